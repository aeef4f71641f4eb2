"""Audit every estimator of skdp, and two peers, from the outside: only `fit` is used.

Each row is one pair of neighbouring data sets. The bound holds with confidence 95 %, for each row
by itself; of so many honest rows one in twenty may err.

Usage: python -m benchmarks.audits --part PART
       OTHER/bin/python -m benchmarks.audits --part diffprivlib
       python -m benchmarks.audits --page
"""

import argparse
import csv
import time
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks import audit_cases, audit_descents, audit_embeddings, audit_searches
from benchmarks.audit_cases import Case
from skdp.audit import EpsilonAudit, audit_epsilon, audit_release

RESULTS = Path(__file__).parent / "results" / "audits"
PAGE = Path(__file__).parents[1] / "docs" / "audits.md"
RELEASES = 4000
PARTS = {
    "tight": audit_cases.tight,
    "released_once": partial(audit_cases.released_once, 150),
    "tilted": partial(audit_cases.tilted, 4000),
    "stable": partial(audit_cases.stable, 100),
    "private_sgd": partial(audit_cases.private_sgd, 600),
    "networks": partial(audit_cases.networks, 400),
    "others": partial(audit_cases.others, 300),
    "transformers": partial(audit_cases.transformers, 400),
    "descents": partial(audit_descents.descents, 1200),
    "embeddings": partial(audit_embeddings.embeddings, 800),
    "searches": partial(audit_searches.searches, 1000),
    "bolt_on": audit_cases.bolt_on,
    "diffprivlib": audit_cases.diffprivlib,
}
COLUMNS = (
    "library", "estimator", "pair", "distance", "claimed_epsilon", "delta", "epsilon",
    "gaussian_epsilon", "accuses", "n", "of", "event", "seconds", "theory", "noise_share",
    "control_epsilon", "control_accused",
)  # fmt: skip


def audited(case: Case) -> tuple[EpsilonAudit, str]:
    """Audit the releases of an estimator that makes one; else, and for peers, its fits."""
    if case.library == "skdp" and not case.only_fits:
        solved = getattr(case.estimator, "perturbation", "output") == "objective"
        try:
            found = audit_release(
                case.estimator,
                case.pair.data,
                case.pair.neighbour,
                n_draws=case.n_fits if solved else RELEASES,
                distance=case.pair.distance,
                random_state=0,
            )
        except ValueError:  # several releases, or a choice
            pass
        else:
            return found, "releases"
    return _by_fits(case, case.estimator, case.n_fits, case.pair.event), "fits"


def _by_fits(case: Case, estimator: Any, n_fits: int, event: Any) -> EpsilonAudit:
    """Audit an estimator on the pair of a case, against the claim of the case."""
    return audit_epsilon(
        estimator,
        case.pair.data,
        case.pair.neighbour,
        n_fits=n_fits,
        event=event,
        release=case.pair.release,
        epsilon=getattr(case.estimator, "epsilon", None),
        delta=getattr(case.estimator, "delta", None),
        distance=case.pair.distance,
        random_state=0,
    )


def controlled(case: Case) -> tuple[str, ...]:
    """Return what theory says, and what an audit says where noise is missing."""
    theory = "" if case.theory is None else f"{case.theory:.4f}"
    if case.control is None:
        return (theory, "", "", "")
    event = case.control_event or case.pair.event
    found = _by_fits(case, case.control, case.control_fits, event)
    return theory, f"{case.noise_share:g}", f"{found.epsilon:.4f}", str(found.accuses)


def measure(part: str, *, resume: bool, fits: int | None) -> None:
    """Audit the cases of a part and write them as they come; those written stay on resuming."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{part}.csv"
    done = len(list(csv.DictReader(path.open(newline="")))) if resume and path.exists() else 0
    with path.open("a" if done else "w", newline="") as file:
        writer = csv.writer(file)
        if not done:
            writer.writerow(COLUMNS)
        for case in islice(PARTS[part](), done, None):
            case = replace(case, n_fits=fits or case.n_fits)
            start = time.process_time()
            found, of = audited(case)
            gaussian, seconds = found.gaussian_epsilon, time.process_time() - start
            writer.writerow(
                [
                    case.library, case.name, case.pair.name, case.pair.distance,
                    f"{found.claim.epsilon:.6g}", f"{found.claim.delta:.3g}",
                    f"{found.epsilon:.4f}", "" if gaussian is None else f"{gaussian:.4f}",
                    found.accuses, found.n_fits, of, found.event.name,
                    f"{seconds:.1f}", *controlled(case),
                ]
            )  # fmt: skip
            file.flush()
            print(case.name, "|", case.pair.name, "|", found, flush=True)


def main() -> None:
    """Measure a part, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--resume", action="store_true", help="go on behind the rows written")
    parser.add_argument("--fits", type=int, help="fits on either side, instead of those chosen")
    parser.add_argument("--page", action="store_true", help="write docs/audits.md")
    arguments = parser.parse_args()
    if arguments.part:
        measure(arguments.part, resume=arguments.resume, fits=arguments.fits)
    if arguments.page:
        from benchmarks.audit_page import page

        PAGE.write_text(page(RESULTS))
        print(f"{PAGE} is written")


if __name__ == "__main__":
    main()
