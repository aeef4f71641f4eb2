"""``skdp ledger show | history | verify``: what is left and was spent."""

import argparse
from pathlib import Path
from typing import Any

_SHOWN = ("time", "status", "experiment", "purpose", "epsilon", "delta", "share")


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "ledger", help="look at a privacy ledger", description="Look at a privacy ledger."
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    for name, run, words in (
        ("show", show, "print the cap, what is spent and what is left"),
        ("history", history, "print all entries"),
        ("verify", verify, "recompute hashes, totals and prices; may take minutes"),
    ):
        action = actions.add_parser(name, help=words, description=words.capitalize() + ".")
        action.add_argument("path", help="file of the ledger, or its address on a server")
        action.set_defaults(run=run)
        if name == "history":
            action.add_argument("--html", type=Path, help="page to write instead")
            action.add_argument("--json", action="store_true", help="print all of it as JSON")
        if name == "verify":
            action.add_argument("--seal", help="hash of an entry that was noted down earlier")


def show(args: argparse.Namespace) -> None:
    """Print the guarantee and what is left."""
    ledger = _opened(args)
    spent, left = ledger.spent(), ledger.remaining()
    fixed = "unknown" if spent.epsilon_if_fixed is None else f"{spent.epsilon_if_fixed:.4g}"
    print(
        f"{ledger.description['dataset'] or ledger.path}\n"
        f"Guarantee for each {ledger.unit} ({ledger.neighbours.value}): "
        f"epsilon = {spent.guarantee.epsilon:g}, delta = {spent.guarantee.delta:g}\n"
        f"Why: {ledger.theorem}\n"
        f"Entries: {spent.n_entries}; spent or reserved: {100 * spent.share:.3g} %\n"
        f"Left for one more release: epsilon = {left.epsilon:.4g}; for deltas: {left.delta:.3g}\n"
        f"Had all entries been fixed beforehand, epsilon would be {fixed}; this is no guarantee.\n"
        f"Seal: {ledger.seal}"
    )


def history(args: argparse.Namespace) -> None:
    """Print or write the entries."""
    ledger = _opened(args)
    if args.html is not None:
        ledger.write_html(args.html)
        print(f"Page: {args.html}")
    elif args.json:
        print(ledger.export_json())
    else:
        entries = ledger.history()[list(_SHOWN)]
        print(entries.to_string() if len(entries) else "No entries.")


def verify(args: argparse.Namespace) -> None:
    """Print how many entries fit; an error says which does not."""
    print(f"{_opened(args).verify(seal=args.seal)} entries, all of them as they were written.")


def _opened(args: argparse.Namespace) -> Any:
    from skdp.privacy import PrivacyLedger

    return PrivacyLedger.open(args.path)
