"""The page docs/audits.md, from the files of benchmarks/audits.py."""

import csv
from pathlib import Path

TEMPLATE = Path(__file__).parent / "audits_page.md"
HEAD = (
    "| estimator | pair | distance | claimed epsilon | delta | at least | if Gaussian | n "
    "| event |\n"
    "|---|---|---:|---:|---:|---:|---:|---:|---|"
)
OURS = (
    "released_once",
    "tilted",
    "stable",
    "private_sgd",
    "networks",
    "others",
    "transformers",
    "embeddings",
    "searches",
)


def page(results: Path) -> str:
    """Return the page."""
    ours = [row for part in OURS for row in _read(results, part)]
    accused = sum(row["accuses"] == "True" for row in ours)
    verdict = (
        f"{len(ours)} audits at confidence 95 % each, of which {accused} "
        f"contradicted a claim; up to {round(0.05 * len(ours))} may by chance alone."
    )
    peers = _read(results, "diffprivlib") + _read(results, "bolt_on")
    releases = max((int(row["n"]) for row in ours if row["of"] == "releases"), default=0)
    return TEMPLATE.read_text().format(
        tight=_table(_read(results, "tight")),
        peers=_table(peers, library=True),
        skdp=_table(ours),
        verdict=verdict,
        releases=releases,
    )


def _read(results: Path, part: str) -> list[dict[str, str]]:
    path = results / f"{part}.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _table(rows: list[dict[str, str]], *, library: bool = False) -> str:
    return "\n".join([HEAD, *(_line(row, library) for row in rows)])


def _line(row: dict[str, str], library: bool) -> str:
    name = " ".join(row["estimator"].split())
    if library:
        name = f"{row['library']}: {name}"
    bound = f"**{_short(row['epsilon'])}**" if row["accuses"] == "True" else _short(row["epsilon"])
    cells = (
        name, row["pair"], row["distance"], _short(row["claimed_epsilon"]), row["delta"], bound,
        _short(row["gaussian_epsilon"]), f"{row['n']} {row.get('of', 'fits')}", row["event"],
    )  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def _short(number: str) -> str:
    return f"{float(number):.3g}" if number else ""
