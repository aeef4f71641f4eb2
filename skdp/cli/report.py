"""``skdp report``: a page, and a model card, about a privacy statement in a file."""

import argparse
import json
from pathlib import Path
from typing import Any

from skdp.cli import arguments
from skdp.exceptions import PrivacyError

_NO_PROOF = "A file can be changed by hand: this repeats what it states, and proves nothing."


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "report",
        help="write a page about a privacy statement",
        description="Write a page about what PrivacyStatement.to_json wrote. " + _NO_PROOF,
    )
    parser.add_argument("statement", type=Path, help="file with the text of a statement's to_json")
    parser.add_argument("--output", type=arguments.file_path, required=True, help="page to write")
    parser.add_argument("--card", type=arguments.file_path, help="model card to write, in Markdown")
    parser.add_argument("--ledger", help="ledger whose budget left is shown")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Write the files and name them."""
    on_disk = args.ledger if args.ledger and "://" not in args.ledger else None
    given = [args.statement, args.output, args.card, on_disk and Path(on_disk)]
    files = [path.resolve() for path in given if path is not None]
    if len(set(files)) < len(files):
        raise PrivacyError("The files must differ from each other.")
    from skdp.privacy import PrivacyLedger
    from skdp.reporting import write_model_card, write_report

    statement = _read(args.statement)
    ledger = None if args.ledger is None else PrivacyLedger.open(args.ledger)
    write_report(statement, args.output, ledger=ledger)
    print(f"Page: {args.output}")
    if args.card is not None:
        write_model_card(statement, args.card)
        print(f"Card: {args.card}")
    print(_NO_PROOF)


def _read(path: Path) -> Any:
    from skdp.privacy import PrivacyStatement

    try:
        return PrivacyStatement.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError, RecursionError) as error:
        raise PrivacyError(f"{path}: {error}") from error
