"""``skdp audit``: attack an estimator, given by its import path, on made-up worst-case data."""

import argparse
import ast
import os
import sys
from importlib import import_module
from typing import Any

from skdp.cli import arguments
from skdp.exceptions import PrivacyError

CHECKS = ("epsilon", "release", "replay", "attributes", "bits", "randomness", "one-run")
RELATIONS = ("add-or-remove-one", "replace-one", "zero-out")
_DEFAULT_CHECKS = ("epsilon", "attributes", "randomness")


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "audit",
        help="attack an estimator of any library and bound its epsilon from below",
        description=(
            "Fit an estimator many times on made-up neighbouring data sets and bound its epsilon "
            "from below. Exit code 3 if a claim is shown to be false, 1 if an attack cannot be "
            "run."
        ),
    )
    parser.add_argument(
        "estimator",
        help=(
            "import path of a class, such as skdp.linear_model.PrivateRidge, or of one's own in "
            "the current folder"
        ),
    )
    parser.add_argument(
        "--set",
        dest="parameters",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="parameter of the estimator, as a Python literal; may be repeated",
    )
    parser.add_argument(
        "--checks",
        nargs="+",
        choices=CHECKS,
        default=list(_DEFAULT_CHECKS),
        help=(
            "which attacks; release and replay are for estimators of skdp; "
            f"default: {' '.join(_DEFAULT_CHECKS)}"
        ),
    )
    parser.add_argument(
        "--fits",
        type=arguments.count,
        default=500,
        help="fits on either data set of a pair; default: %(default)s",
    )
    parser.add_argument(
        "--confidence",
        type=arguments.share,
        default=0.95,
        help="of each bound; default: %(default)s",
    )
    parser.add_argument("--epsilon", type=arguments.epsilon, help="claim; default: the parameter")
    parser.add_argument("--delta", type=arguments.delta, help="claim; default: the parameter")
    parser.add_argument(
        "--relation",
        choices=RELATIONS,
        help="what neighbours are; default: what the estimator says, else replace-one",
    )
    parser.add_argument("--jobs", type=arguments.count, default=1, help="processes; default: 1")
    parser.add_argument("--seed", type=int, help="makes the audit reproducible")
    parser.add_argument("--figure", type=arguments.figure_path, help="figure of the best attack")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the attacks, print what they found, and return 3 if a claim is false.

    Otherwise 1 if an attack could not be run, which keeps no other one from running.
    """
    if args.fits < 20:
        raise PrivacyError("Audits need at least 20 fits.")
    estimator = _estimator(args)
    accused = failed = False
    for check in args.checks:
        try:
            result = _RUNNERS[check](estimator, args)
        except Exception as error:  # whatever an estimator of anybody raises on made-up data
            failed = True
            print(f"skdp: error: {check}: {error}", file=sys.stderr)
            continue
        accused |= result.accuses
        print(f"{check}: {result.sentence()}")
        if check == "epsilon" and args.figure is not None:
            result.plot().figure.savefig(args.figure, dpi=150)
            print(f"Figure: {args.figure}")
    print("An attack that finds nothing proves nothing.")
    return 3 if accused else int(failed)


def _estimator(args: argparse.Namespace) -> Any:
    path, _, name = args.estimator.replace(":", ".").rpartition(".")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        kind = getattr(import_module(path), name)
        return kind(**dict(map(_parameter, args.parameters)))
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise PrivacyError(f"{args.estimator}: {error}") from error


def _parameter(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"a parameter must be NAME=VALUE, got {text!r}")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def _epsilon(estimator: Any, args: argparse.Namespace) -> Any:
    from skdp.audit import audit_worst_cases

    return audit_worst_cases(
        estimator,
        relation=args.relation,
        n_fits=args.fits,
        epsilon=args.epsilon,
        delta=args.delta,
        confidence=args.confidence,
        n_jobs=args.jobs,
        random_state=args.seed,
        progress=sys.stderr.isatty(),
    )


def _pair(estimator: Any, args: argparse.Namespace) -> Any:
    """Return a pair of true neighbours if there is one, the first one otherwise."""
    from skdp.audit import worst_case_neighbours

    pairs = worst_case_neighbours(estimator, relation=args.relation)
    return next((pair for pair in pairs if pair.distance == 1), pairs[0])


def _release(estimator: Any, args: argparse.Namespace) -> Any:
    from skdp.audit import audit_release

    pair = _pair(estimator, args)
    return audit_release(
        estimator,
        pair.data,
        pair.neighbour,
        n_draws=20 * args.fits,
        epsilon=args.epsilon,
        delta=args.delta,
        distance=pair.distance,
        confidence=args.confidence,
        random_state=args.seed,
    )


def _replay(estimator: Any, args: argparse.Namespace) -> Any:
    from skdp.audit import record_and_replay

    pair = _pair(estimator, args)
    if pair.distance > 1:
        raise PrivacyError("No pair of neighbours can be made of rows alone for this estimator.")
    return record_and_replay(estimator, pair.data, pair.neighbour)


def _attributes(estimator: Any, args: argparse.Namespace) -> Any:
    from skdp.audit import audit_attributes

    pair = _pair(estimator, args)
    return audit_attributes(
        estimator,
        pair.data,
        pair.neighbour,
        epsilon=args.epsilon,
        delta=args.delta,
        distance=pair.distance,
        confidence=args.confidence,
    )


def _bits(estimator: Any, args: argparse.Namespace) -> Any:
    from skdp.audit import audit_floating_point

    pair = _pair(estimator, args)
    return audit_floating_point(
        estimator,
        pair.data,
        pair.neighbour,
        n_fits=args.fits,
        n_jobs=args.jobs,
        random_state=args.seed,
    )


def _randomness(estimator: Any, args: argparse.Namespace) -> Any:
    from skdp.audit import audit_randomness

    data = _pair(estimator, args).data
    return audit_randomness(estimator, data, epsilon=args.epsilon, delta=args.delta)


def _one_run(estimator: Any, args: argparse.Namespace) -> Any:
    from skdp.audit import audit_one_run

    X, y = _pair(estimator, args).data
    return audit_one_run(
        estimator,
        X,
        y,
        relation=args.relation,
        epsilon=args.epsilon,
        delta=args.delta,
        confidence=args.confidence,
        random_state=args.seed,
    )


_RUNNERS = {
    "epsilon": _epsilon,
    "release": _release,
    "replay": _replay,
    "attributes": _attributes,
    "bits": _bits,
    "randomness": _randomness,
    "one-run": _one_run,
}
