"""``skdp account``: what accountants say of the same noise, and which of them to believe."""

import argparse
from typing import Any

from skdp.cli import arguments

#: Beyond, the exact account needs more memory than there is, or there is no privacy to speak of.
_LEAST_RATE, _LEAST_NOISE = 1e-6, 0.1
_CURVE = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "account",
        help="compare accountants of private SGD for given noise",
        description=(
            "Print the epsilon of private SGD with constant noise as accountants have it, for "
            "zero-out neighbours: exactly, and as in the literature."
        ),
    )
    parser.add_argument(
        "--sampling-rate",
        type=arguments.share,
        required=True,
        help="share of the records in a batch, in (0, 1)",
    )
    parser.add_argument(
        "--noise-multiplier",
        type=arguments.epsilon,
        required=True,
        help="standard deviation of the noise over the norm of clipped gradients",
    )
    parser.add_argument(
        "--epochs",
        type=arguments.count,
        nargs="+",
        default=[1, 10, 100],
        help="numbers of epochs; default: 1 10 100",
    )
    parser.add_argument(
        "--delta", type=arguments.share, default=1e-5, help="in (0, 1); default: %(default)g"
    )
    parser.add_argument(
        "--figure", type=arguments.figure_path, help="figure to write: epsilon against epochs"
    )
    parser.set_defaults(run=run, refuse=parser.error)


def run(args: argparse.Namespace) -> None:
    """Print the table and draw the figure."""
    if args.sampling_rate < _LEAST_RATE or args.noise_multiplier < _LEAST_NOISE:
        args.refuse(
            f"accounts are for a sampling rate of at least {_LEAST_RATE:g} and a noise multiplier "
            f"of at least {_LEAST_NOISE:g}"
        )
    from rich.console import Console

    from skdp.reporting import accountants_table, draw_accountants

    title = (
        f"Epsilon after so many epochs at delta = {args.delta:g}, "
        f"q = {args.sampling_rate:g}, sigma = {args.noise_multiplier:g}"
    )
    epochs = sorted(set(args.epochs))
    Console().print(accountants_table(epochs, _compared(args, epochs), title))
    print(
        '\nOnly rows with "yes" are guarantees, each for its way of batching alone: a shuffled\n'
        "loader is not a Poisson sample. The others are formulas of the literature."
    )
    if args.figure is not None:
        shown = [number for number in _CURVE if number < epochs[-1]] + epochs[-1:]
        draw_accountants(shown, _compared(args, shown), args.figure, title)
        print(f"\nFigure: {args.figure}")


def _compared(args: argparse.Namespace, epochs: list[int]) -> list[Any]:
    from skdp.privacy.comparison import compare_accountants

    return [
        compare_accountants(args.sampling_rate, args.noise_multiplier, number, args.delta)
        for number in epochs
    ]
