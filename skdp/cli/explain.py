"""``skdp explain``: what epsilon and delta mean for one person."""

import argparse
from typing import Any

from skdp.cli import arguments


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "explain",
        help="say in plain words what epsilon and delta mean for one person",
        description="Say in plain words what (epsilon, delta) means for one person.",
    )
    parser.add_argument("--epsilon", type=arguments.epsilon, required=True, help="above 0")
    parser.add_argument(
        "--delta", type=arguments.delta, default=0.0, help="in [0, 1); default: %(default)g"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Print the explanation."""
    from skdp.privacy.meaning import explain_budget

    print(explain_budget(args.epsilon, args.delta))
