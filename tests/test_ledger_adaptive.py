"""Choosing the next release by the outcome of the last breaks plain composition, not a ledger.

Two releases, a cap of (1, 1e-6). First a Gaussian with mu = 0.2; with noise z its loss is
0.02 + 0.2 z. Then one of several, chosen by that loss, each of which composed with the first by
privacy loss distributions says (1, 1e-6). The true delta is E max_j delta_j(1 - loss), over the
outcome of the first.
"""

import math

import numpy as np
import pytest
from dp_accounting import dp_event
from scipy.optimize import brentq
from scipy.stats import norm

from skdp.exceptions import BudgetExceededError
from skdp.privacy import PrivacyLedger
from skdp.privacy.accounting import EventCurve
from skdp.privacy.events import GaussianReleaseDpEvent, PureReleaseDpEvent
from skdp.privacy.pure_curve import pure_renyi

CAP, DELTA = 1.0, 1e-6
Z = np.linspace(-12, 12, 4001)
WEIGHT = norm.pdf(Z) * (Z[1] - Z[0])
LEFT = CAP - (0.02 + 0.2 * Z)  # what the second release may lose
NOTHING = np.maximum(0, -np.expm1(LEFT))
FIRST = GaussianReleaseDpEvent(0.2, "l2", "add-or-remove-one", 1.0)


def response(e):
    """Return delta(LEFT) of randomised response with epsilon e."""
    inside = (math.exp(e) - np.exp(LEFT)) / (1 + math.exp(e))
    return np.where(e <= LEFT, 0, np.where(-e >= LEFT, -np.expm1(LEFT), inside))


def noise(mu):
    """Return delta(LEFT) of a Gaussian."""
    return norm.cdf(mu / 2 - LEFT / mu) - np.exp(LEFT) * norm.cdf(-mu / 2 - LEFT / mu)


class Choice:
    """A second release that loses everything with probability `lost` and else is like `curve`."""

    def __init__(self, lost, curve, size):
        self.lost, self.curve, self.size = lost, curve, size

    @property
    def deltas(self):
        return self.lost + (1 - self.lost) * self.curve(self.size)

    @property
    def event(self):
        if self.curve is noise:
            return GaussianReleaseDpEvent(self.size, "l2", "add-or-remove-one", 1.0, self.lost)
        return PureReleaseDpEvent(self.size, self.lost, 1.0, "l2", "add-or-remove-one", 1.0)

    @classmethod
    def just_affordable(cls, lost, curve):
        """Return the largest that plain composition puts under (1, 1e-6)."""
        return cls(
            lost, curve, brentq(lambda s: WEIGHT @ cls(lost, curve, s).deltas - DELTA, 1e-9, 3)
        )

    def smaller(self, factor):
        return Choice(self.lost * factor / 40, self.curve, self.size * factor)


CHOICES = [
    Choice.just_affordable(share * DELTA, curve)
    for curve in (response, noise)
    for share in (0.0, 0.2, 0.5, 0.8, 0.9)
]


def true_delta(choices):
    """Return delta at epsilon 1 of whoever takes the worst of them for each outcome."""
    return WEIGHT @ np.max([NOTHING, *(choice.deltas for choice in choices)], axis=0)


@pytest.fixture(params=["renyi", "renyi, order 30", "zcdp"])
def ledger(request, tmp_path):
    name, _, order = request.param.partition(", order ")
    how = {"filter": name, "order": int(order) if order else None}
    ledger = PrivacyLedger.create(
        tmp_path / "l.db", CAP, DELTA, neighbours="add-or-remove-one", **how
    )
    ledger.spend_event(FIRST, purpose="first")
    return ledger


def test_plain_composition_of_the_entries_would_let_twice_the_delta_through():
    for choice in CHOICES:
        entries = dp_event.ComposedDpEvent([FIRST, choice.event])
        assert EventCurve(entries).delta_at(CAP) <= 1.01 * DELTA
    assert true_delta(CHOICES) > 2.3 * DELTA


def test_played_to_the_end_the_ledger_refuses_what_would_break_it(ledger):
    played = np.argmax([choice.deltas for choice in CHOICES], axis=0)
    assert len(set(played)) > 3
    for number in set(played):  # each of these is what some outcome of the first makes one ask for
        choice = CHOICES[number]
        assert not ledger.can_afford(choice.event)
        with pytest.raises(BudgetExceededError):
            ledger.spend_event(choice.event, purpose="second")
    assert ledger.verify() == 1


def test_the_worst_choice_among_what_the_ledger_admits_keeps_its_delta(ledger):
    offered = [choice.smaller(f) for choice in CHOICES for f in np.linspace(0.05, 1.0, 20)]
    admitted = [choice for choice in offered if ledger.can_afford(choice.event)]
    assert 50 < len(admitted) < len(offered)
    assert 1e-8 < true_delta(admitted) <= DELTA
    ledger.spend_event(max(admitted, key=lambda choice: choice.size).event, purpose="second")
    assert ledger.verify() == 2


def test_of_390_responses_that_are_run_by_chance_those_admitted_keep_the_delta(ledger):
    # With a probability that depends on the outcome and is told, a response is run: five times.
    losses = [(e, WEIGHT @ response(e)) for e in np.arange(0.2, 4.0, 0.01)]
    base = WEIGHT @ NOTHING
    rates = [(e, (DELTA - base) / (cost - base)) for e, cost in losses if cost > DELTA]
    deltas = [rate * response(e) + (1 - rate) * NOTHING for e, rate in rates]
    assert max(WEIGHT @ np.array(deltas).T) < 1.01e-6
    assert WEIGHT @ np.max(deltas, axis=0) > 4.5e-6
    # The ledger's own price of them: moments of order a mix, since it is told which was run.
    order, left = ledger.description["order"], 1 - ledger.share
    orders = np.array([float(order)]) if order else 1 + np.geomspace(1e-3, 1e4, 200)

    def price(e, rate):
        mixed = np.log1p(rate * np.expm1(np.minimum((orders - 1) * pure_renyi(e, orders), 700)))
        return (mixed / (orders - 1) / (1 if order else orders)).max()

    kept = [d for d, (e, rate) in zip(deltas, rates, strict=True)
            if price(e, rate) <= left * float(ledger._terms.filter.limit.cost)]  # fmt: skip
    assert len(kept) < len(deltas)
    assert WEIGHT @ np.max([NOTHING, *kept], axis=0) <= DELTA
