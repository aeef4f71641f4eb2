"""The privacy part of a model card, in Markdown."""

import os
from html import escape
from pathlib import Path
from typing import Any

from skdp.privacy.statement import PrivacyStatement
from skdp.reporting.report_facts import AUTHORITY, alerts, declared, powers, visible

__all__ = ["write_model_card"]

_SPECIAL = frozenset("\\`*_[]|#!~@$")


def write_model_card(
    statement: PrivacyStatement, path: str | os.PathLike[str], *, estimator: Any = None
) -> None:
    """Write the parts of a model card that follow from a statement, in Markdown.

    Intended use, data and scores are left to whoever releases the model.

    Parameters
    ----------
    statement : PrivacyStatement
        What was promised.
    path : str or path-like
        Where the card goes; an existing file is replaced.
    estimator : estimator, default=None
        Its class and declared parameters are shown, without seed and ledger.

    References
    ----------
    Mitchell et al. (2019), Model cards for model reporting.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from skdp.linear_model import PrivateElasticNetClassifier
    >>> from skdp.reporting import write_model_card
    >>> model = PrivateElasticNetClassifier(epsilon=1.0, classes=[0, 1])
    >>> _ = model.fit(np.eye(10, 3), np.arange(10) % 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     card = Path(folder, "card.md")
    ...     write_model_card(model.privacy_, card)
    ...     card.read_text(encoding="utf-8").splitlines()[0]
    '# Model card'
    """
    warnings = "".join(f"**Warning: {text}**\n\n" for text in alerts(statement))
    explained = visible(statement.explain())
    words = "\n".join(f"    {line}" for line in explained.splitlines())
    checks = "".join(f"- [ ] {_inline(text)}\n" for text in statement.assumptions)
    Path(path).write_text(
        f"# Model card\n\n{warnings}{_details(estimator)}"
        f"## Ethical considerations: privacy\n\n{words}\n\n"
        f"{_table(('False alarms', 'Found at most'), powers(statement))}\n"
        f"## Caveats and recommendations\n\nTo be checked before the model is released:\n\n{checks}"
        f"\nNoise: {_inline(statement.noise)}\n\nSource: {_inline(statement.theorem)}\n\n"
        f"{AUTHORITY}\n",
        encoding="utf-8",
    )


def _details(estimator: Any) -> str:
    if estimator is None:
        return ""
    return f"## Model details\n\n{_table(('declared', 'value'), declared(estimator))}\n"


def _table(heads: tuple[str, str], rows: list[tuple[str, str]]) -> str:
    lines = (f"| {_inline(name)} | {_inline(value)} |\n" for name, value in rows)
    return f"| {heads[0]} | {heads[1]} |\n|---|---|\n{''.join(lines)}"


def _inline(text: str) -> str:
    """One line of text in which nothing is markup, not even an address."""
    flat = " ".join(escape(visible(text), quote=False).split())
    plain = "".join(f"\\{c}" if c in _SPECIAL else c for c in flat)
    return plain.replace("://", ":\\/\\/").replace("www.", "www\\.")
