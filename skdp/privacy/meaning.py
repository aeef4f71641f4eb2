"""What epsilon and delta mean for one person, in plain words."""

import math
from collections.abc import Iterable
from textwrap import fill, indent

from skdp.privacy.budget import Neighbours, PrivacyBudget
from skdp.privacy.trade_off import (
    BudgetCurve,
    PrivacyCurve,
    attack_power,
    belief_range,
    privacy_loss_bound,
)

__all__ = [
    "FALSE_POSITIVE_RATES",
    "NOT_PROMISED",
    "RELATION_IN_WORDS",
    "belief_in_words",
    "bullets",
    "explain_budget",
    "meaning_in_words",
    "not_promised_in_words",
    "paragraphs",
    "percent_up",
]

FALSE_POSITIVE_RATES = (0.001, 0.01, 0.1)
# Below this, an exception is called finite precision rather than a risk.
_NEGLIGIBLE = 1e-12

RELATION_IN_WORDS = {
    Neighbours.REPLACE_ONE: (
        "Replace-one: the number of rows is public; two data sets are compared that differ in "
        "the values of a single {unit}, which may be any that the declared bounds admit."
    ),
    Neighbours.ZERO_OUT: (
        "Zero-out: the number of rows is public; two data sets are compared of which one holds "
        "a blank, contributing nothing, where the other holds a {unit}."
    ),
    Neighbours.ADD_OR_REMOVE_ONE: (
        "Add-or-remove-one: the number of rows is private; two data sets are compared of which "
        "one holds a {unit} more than the other."
    ),
}

NOT_PROMISED = (
    "Several {unit}s of one person. Whoever has three {unit}s in the data is protected by three "
    "times the epsilon ({tripled:g}), and by a delta that grows faster still.",
    "Related people. What relatives or a household have in the data says something about a "
    "person too; each of their {unit}s is protected by itself, not all of them together.",
    "Facts true of everybody. What the data as a whole teach (that smoking causes cancer, say) "
    "can be applied to a person whether or not that person's {unit} is there.",
    "Choices made on the data before the fit. Tuning, preprocessing, feature choice, and bounds "
    "or classes read off the data reveal something and are not counted here.",
    "Other releases. Every further fit or statistic from the same data adds its own cost; a "
    "ledger counts them.",
)


def explain_budget(
    epsilon: float,
    delta: float = 0.0,
    *,
    neighbours: Neighbours = Neighbours.REPLACE_ONE,
    unit: str = "row",
) -> str:
    """Say in plain words what a bare pair (epsilon, delta) promises one person.

    A fitted estimator's `privacy_.explain()` says more, and often better, since it knows the
    whole curve of the mechanism.

    Parameters
    ----------
    epsilon : float
        Above 0.
    delta : float, default=0.0
        In [0, 1).
    neighbours : Neighbours, default=Neighbours.REPLACE_ONE
        The relation that the pair refers to.
    unit : str, default="row"
        What one record is.

    Returns
    -------
    str
        Lines of at most 88 characters.

    Examples
    --------
    >>> print(explain_budget(1.0, 1e-6))  # doctest: +ELLIPSIS
    epsilon = 1, delta = 1e-06, for each row (replace-one)
    ...
    """
    budget = PrivacyBudget(epsilon, delta)
    headline = f"epsilon = {epsilon:g}, delta = {delta:g}, for each {unit} ({neighbours.value})"
    meaning = meaning_in_words(BudgetCurve(budget), delta, neighbours=neighbours, unit=unit)
    return paragraphs(headline, meaning, not_promised_in_words(epsilon, unit))


def meaning_in_words(
    curve: PrivacyCurve, delta: float, *, neighbours: Neighbours, unit: str
) -> str:
    """Return the relation, the power of attacks and the shift of beliefs, as text.

    Parameters
    ----------
    curve : PrivacyCurve
        What is proved.
    delta : float
        Sets how rare an exception may be called: ten times delta.
    neighbours : Neighbours
        The relation that the curve refers to.
    unit : str
        What one record is.

    Returns
    -------
    str
        Several lines.
    """
    relation = RELATION_IN_WORDS[neighbours].format(unit=unit)
    attack = (
        f"Somebody who knows every other {unit} and sees all that was released wants to tell "
        f"whether it was computed with this person's {unit}. If false alarms may be raised at "
        "the rate on the left, at most the rate on the right of true cases can be found, by any "
        "method whatsoever:"
    )
    table = [
        f"{percent_up(rate):>8} false alarms: {percent_up(attack_power(curve, rate)):>8} found"
        for rate in FALSE_POSITIVE_RATES
    ]
    return "\n".join(
        [
            "What it means for one person",
            _indented(relation),
            _indented(attack),
            *(f"    {line}" for line in table),
            _indented(belief_in_words(curve, delta)),
        ]
    )


def not_promised_in_words(epsilon: float, unit: str) -> str:
    """Return the fixed part on what no such guarantee covers.

    Parameters
    ----------
    epsilon : float
        The stated one, for the example of several rows.
    unit : str
        What one record is.

    Returns
    -------
    str
        Several lines.
    """
    items = (item.format(unit=unit, tripled=3 * epsilon) for item in NOT_PROMISED)
    return bullets("What this does not promise", items)


def bullets(title: str, items: Iterable[str]) -> str:
    """Return a title with a list of wrapped items below it."""
    return "\n".join([title, *(_item(item) for item in items)])


def paragraphs(*texts: str) -> str:
    """Join texts with an empty line between them."""
    return "\n\n".join(texts)


def belief_in_words(curve: PrivacyCurve, delta: float) -> str:
    """Return one sentence on where a belief of 50 % can move, but for a chance of 10 delta."""
    chance = max(10 * delta, _NEGLIGIBLE)
    loss = privacy_loss_bound(curve, chance) if chance < 1 else math.inf
    if loss == math.inf:
        return "There is no limit to how far a belief of 50 % about this person can move."
    low, high = belief_range(loss)
    return (
        f"A belief of 50 % about this person can move to between {_percent_down(low)} and "
        f"{percent_up(high)}, except with a probability of at most {chance:g}."
    )


def percent_up(share: float) -> str:
    """Return a percentage with two decimals, rounded upwards: it stands after "at most"."""
    return f"{math.ceil(round(share * 1e4, 6)) / 100:g} %"


def _percent_down(share: float) -> str:
    return f"{math.floor(round(share * 1e4, 6)) / 100:g} %"


def _indented(text: str) -> str:
    return indent(fill(text, width=86), "  ")


def _item(text: str) -> str:
    return fill(text, width=88, initial_indent="  - ", subsequent_indent="    ")
