"""A page about what a release promised: self-contained, without scripts."""

import os
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

from skdp.privacy.meaning import NOT_PROMISED, RELATION_IN_WORDS, belief_in_words
from skdp.privacy.statement import PrivacyStatement
from skdp.reporting.power_figure import power_figure
from skdp.reporting.report_facts import AUTHORITY, alerts, budget_left, declared, powers, visible

__all__ = ["STYLE", "write_report"]

#: Each colour on its background has a contrast of at least 4.5, in either scheme.
STYLE = """
:root{color-scheme:light dark;--back:#ffffff;--text:#1b1b1b;--soft:#4d4d4d;--curve:#0b5cad;
--alarm:#a3151a}
@media (prefers-color-scheme:dark){:root{--back:#15181b;--text:#ececec;--soft:#b8b8b8;
--curve:#7ab8ff;--alarm:#ff9b94}}
body{background:var(--back);color:var(--text);font:1rem/1.5 system-ui,sans-serif;max-width:44rem;
margin:0 auto;padding:1rem;overflow-wrap:anywhere}
h1,h2{line-height:1.2}footer,figcaption,caption{color:var(--soft)}caption{text-align:left}
.scroll{overflow-x:auto}td,th{padding:.25rem .8rem .25rem 0;text-align:left;vertical-align:top}
[role=alert]{border:3px solid var(--alarm);color:var(--alarm);padding:.5rem;font-weight:bold}
.checks{list-style:none;padding:0}.checks label{display:flex;gap:.5rem;align-items:baseline}
figure{margin:0}svg{width:100%;max-width:26rem;height:auto}svg text{fill:var(--text);font-size:12px}
.grid{stroke:var(--soft);stroke-opacity:.35}.guess{stroke:var(--soft);stroke-dasharray:5 4}
.curve{fill:none;stroke:var(--curve);stroke-width:2.5}.curve-dot{fill:var(--curve)}
pre{white-space:pre-wrap}
@media print{:root{--back:#ffffff;--text:#000000;--soft:#333333;--curve:#003c7a;--alarm:#7a0000}
section{break-inside:avoid}body{max-width:none}}
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_ATTACK = (
    "Somebody who knows every other {unit} and sees all that was released wants to tell whether it "
    "was computed with this person's {unit}. At a given rate of false alarms, no method finds more "
    "of the true cases than this:"
)


def write_report(
    statement: PrivacyStatement,
    path: str | os.PathLike[str],
    *,
    estimator: Any = None,
    ledger: Any = None,
    title: str | None = None,
) -> None:
    """Write a self-contained HTML page about a statement.

    It has no script and loads nothing; every text of the statement is shown as text.

    Parameters
    ----------
    statement : PrivacyStatement
        What was promised.
    path : str or path-like
        Where the page goes; an existing file is replaced.
    estimator : estimator, default=None
        Its class and declared parameters are shown, without seed and ledger.
    ledger : Ledger, default=None
        What is left in it is shown.
    title : str, default=None
        Heading of the page; None takes "Privacy report".

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from skdp.linear_model import PrivateElasticNetClassifier
    >>> from skdp.reporting import write_report
    >>> model = PrivateElasticNetClassifier(epsilon=1.0, classes=[0, 1])
    >>> _ = model.fit(np.eye(10, 3), np.arange(10) % 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder, "report.html")
    ...     write_report(model.privacy_, page, estimator=model)
    ...     "What attacks can find" in page.read_text(encoding="utf-8")
    True
    """
    heading = _text(title or "Privacy report")
    Path(path).write_text(
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{heading}</title><style>{STYLE}</style></head><body>"
        f"<header><h1>{heading}</h1></header><main>{_main(statement, estimator, ledger)}</main>"
        f"<footer><p>{AUTHORITY}</p></footer></body></html>\n",
        encoding="utf-8",
    )


def _main(statement: PrivacyStatement, estimator: Any, ledger: Any) -> str:
    sections = [_guarantee(statement), _attacks(statement), _limits(statement)]
    if estimator is not None:
        sections.append(_section("model", "Model and declared facts", _table(declared(estimator))))
    if ledger is not None:
        left = "<p>When this page was written:</p>" + _table(budget_left(ledger))
        sections.append(_section("budget", "Budget left", left))
    warnings = "".join(f'<p role="alert">{text}</p>' for text in alerts(statement))
    return warnings + "".join([*sections, _assumptions(statement), _basis(statement)])


def _guarantee(statement: PrivacyStatement) -> str:
    relation = RELATION_IN_WORDS[statement.neighbours].format(unit=statement.unit)
    belief = belief_in_words(statement, statement.delta)
    return _section(
        "guarantee",
        "Guarantee",
        f"<p><strong>{_text(statement.headline)}</strong></p><p>{_text(relation)}</p>"
        f"<p>{_text(belief)}</p>",
    )


def _limits(statement: PrivacyStatement) -> str:
    unit, tripled = statement.unit, 3 * statement.epsilon
    items = _list(item.format(unit=unit, tripled=tripled) for item in NOT_PROMISED)
    return _section("limits", "What this does not promise", f"<ul>{items}</ul>")


def _attacks(statement: PrivacyStatement) -> str:
    table = _table(powers(statement), ("False alarms", "Found at most"))
    return _section(
        "attacks",
        "What attacks can find",
        f"<p>{_text(_ATTACK.format(unit=statement.unit))}</p>{table}"
        f"<figure>{power_figure(statement)}<figcaption>The line is the ceiling; the dashed one "
        "is guessing. The dots are the rows of the table.</figcaption></figure>",
    )


def _assumptions(statement: PrivacyStatement) -> str:
    boxes = "".join(
        f'<li><label><input type="checkbox"><span>{_text(text)}</span></label></li>'
        for text in statement.assumptions
    )
    return _section("assumptions", "Assumptions to check", f'<ul class="checks">{boxes}</ul>')


def _basis(statement: PrivacyStatement) -> str:
    return _section(
        "basis",
        "What it rests on",
        f"<p>Theorem: {_text(statement.theorem)}</p><p>Noise: {_text(statement.noise)}</p>"
        f"<details><summary>What was run</summary><pre>{_text(repr(statement.event))}</pre>"
        "</details>",
    )


def _section(name: str, title: str, content: str) -> str:
    return f'<section aria-labelledby="{name}"><h2 id="{name}">{title}</h2>{content}</section>'


def _list(texts: Iterable[str]) -> str:
    return "".join(f"<li>{_text(text)}</li>" for text in texts)


def _table(rows: Iterable[tuple[str, str]], heads: tuple[str, ...] = ()) -> str:
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    body = "".join(
        f'<tr><th scope="row">{_text(name)}</th><td>{_text(value)}</td></tr>'
        for name, value in rows
    )
    return (
        f'<div class="scroll" tabindex="0"><table>{f"<thead><tr>{head}</tr></thead>" * bool(head)}'
        f"<tbody>{body}</tbody></table></div>"
    )


def _text(text: str) -> str:
    return escape(visible(text))
