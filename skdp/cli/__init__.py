"""The command line: ``skdp account``, ``audit``, ``demo``, ``explain``, ``ledger``, ``report``."""

import argparse
import sys
from collections.abc import Sequence

import skdp
from skdp.cli import account, audit, demo, explain, ledger, report
from skdp.exceptions import PrivacyError

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0, 1 if it failed, 2 if it was asked wrongly.

    An audit returns 3 if it shows that a claim is false.

    Parameters
    ----------
    argv : sequence of str, default=None
        Arguments without the name of the program; None takes those of the process.
    """
    try:
        arguments = _parser().parse_args(argv)
    except SystemExit as stop:  # argparse has said why, or has printed help or the version
        return int(stop.code or 0)
    try:
        return int(arguments.run(arguments) or 0)
    except (PrivacyError, OSError) as error:
        print(f"skdp: error: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="skdp", description=skdp.__doc__)
    parser.add_argument("--version", action="version", version=f"skdp {skdp.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    account.add_to(commands)
    audit.add_to(commands)
    demo.add_to(commands)
    explain.add_to(commands)
    ledger.add_to(commands)
    report.add_to(commands)
    return parser
