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
)
#: With what theory says, and with controls.
POWERFUL = ("descents", "embeddings", "searches")
THEORY = (
    "| estimator | pair | distance | claimed epsilon | delta | theory | at least | if Gaussian "
    "| n | noise of the control | at least of it |\n"
    "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
)


def page(results: Path) -> str:
    """Return the page."""
    ours = [row for part in OURS for row in _read(results, part)]
    powerful = [row for part in POWERFUL for row in _read(results, part)]
    audited = ours + powerful
    accused = sum(row["accuses"] == "True" for row in audited)
    verdict = (
        f"{len(audited)} audits at confidence 95 % each, those of many steps, documents and "
        f"searches among them, of which {accused} contradicted a claim; up to "
        f"{round(0.05 * len(audited))} may by chance alone."
    )
    peers = _read(results, "diffprivlib") + _read(results, "bolt_on")
    releases = max((int(row["n"]) for row in ours if row["of"] == "releases"), default=0)
    return TEMPLATE.read_text().format(
        tight=_table(_read(results, "tight")),
        peers=_table(peers, library=True),
        skdp=_table(ours),
        powerful="\n".join([THEORY, *map(_powerful_line, powerful)]),
        controls=_found_out(powerful),
        verdict=verdict,
        releases=releases,
    )


def _found_out(rows: list[dict[str, str]]) -> str:
    """Say how many controls were found out, and which were not."""
    controls = [row for row in rows if row["noise_share"]]
    missed = [row["estimator"] for row in controls if row["control_accused"] != "True"]
    counted = f"{len(controls) - len(missed)} of {len(controls)} controls were found out"
    return f"{counted}, but not that of {'; '.join(missed)}." if missed else f"{counted}."


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


def _powerful_line(row: dict[str, str]) -> str:
    control = _short(row["control_epsilon"])
    # Noise of searches is Laplace noise, of which the Gaussian form says nothing.
    gaussian = "" if "SearchCV(" in row["estimator"] else _short(row["gaussian_epsilon"])
    cells = (
        row["estimator"], row["pair"], row["distance"], _short(row["claimed_epsilon"]),
        row["delta"], _short(row["theory"]), _short(row["epsilon"]),
        gaussian, row["n"], _short(row["noise_share"]),
        f"**{control}**" if row["control_accused"] == "True" else control,
    )  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def _short(number: str) -> str:
    return f"{float(number):.3g}" if number else ""
