"""A ledger admits what it can afford, counts it once, and cannot be copied away."""

import copy
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from scipy.optimize import brentq
from sklearn.base import BaseEstimator, clone

from skdp.exceptions import BudgetExceededError, PrivacyError
from skdp.privacy import (
    InMemoryLedger,
    Ledger,
    LedgerEntry,
    Neighbours,
    PrivacyBudget,
    PrivacyStatement,
)
from skdp.privacy.gaussian_curve import gaussian_delta, gaussian_epsilon
from skdp.privacy.pure_curve import pure_delta, pure_epsilon


@dataclass(frozen=True)
class Promise:
    """A mechanism of which the budget is known."""

    epsilon: float
    delta: float

    def delta_at(self, epsilon):
        return self.delta + pure_delta(self.epsilon, epsilon)

    def epsilon_at(self, delta):
        return pure_epsilon(self.epsilon, delta - self.delta)


def statement(epsilon=0.1, delta=0.0, neighbours=Neighbours.REPLACE_ONE):
    promise = Promise(epsilon, delta or 1e-30)
    budget = PrivacyBudget(epsilon, delta)
    return PrivacyStatement(promise, budget, neighbours, "a theorem", (), "noise of a test")


class Fit(BaseEstimator):
    def __init__(self, ledger=None):
        self.ledger = ledger


def test_an_in_memory_ledger_is_a_ledger():
    assert isinstance(InMemoryLedger(1.0), Ledger)
    assert not isinstance(object(), Ledger)


def test_spending_adds_up_until_the_cap_and_no_further():
    ledger = InMemoryLedger(1.0, 1e-5)
    for fit in range(10):
        ledger.spend(statement(0.1, 1e-6), purpose=f"fit {fit}")
    assert ledger.remaining() == (0.0, 0.0)
    assert ledger.spent() == (1.0, 1e-5)
    with pytest.raises(BudgetExceededError, match="one more asks for epsilon"):
        ledger.spend(statement(1e-9), purpose="one more")


def test_numbers_count_as_they_are_written():
    ledger = InMemoryLedger(0.3)
    ledger.spend(statement(0.1), purpose="a")
    ledger.spend(statement(0.2), purpose="b")  # in binary, 0.1 + 0.2 > 0.3
    assert ledger.remaining().epsilon == 0.0


@pytest.mark.parametrize("asked", [(1.0001, 0.0), (0.5, 1.1e-6), (2.0, 0.5)], ids=str)
def test_a_refusal_spends_nothing(asked):
    ledger = InMemoryLedger(1.0, 1e-6)
    with pytest.raises(BudgetExceededError, match="Nothing was spent"):
        ledger.spend(statement(*asked), purpose="too much")
    assert ledger.history() == ()
    ledger.spend(statement(1.0, 1e-6), purpose="all of it")


def test_the_history_holds_what_was_promised_in_order():
    ledger = InMemoryLedger(1.0)
    first, second = statement(0.25), statement(0.5)
    ledger.spend(first, purpose="scaler")
    ledger.spend(second, purpose="classifier")
    assert ledger.history() == (LedgerEntry("scaler", first), LedgerEntry("classifier", second))
    assert [entry.charged.epsilon for entry in ledger.history()] == [0.25, 0.5]
    assert ledger.remaining() == (0.25, 0.0)


def test_pure_requests_fit_a_pure_ledger_and_their_precision_is_summed():
    ledger = InMemoryLedger(1.0)
    for _ in range(3):
        ledger.spend(statement(0.1), purpose="pure")
    assert ledger.remaining().delta == 0.0
    assert ledger.finite_precision == pytest.approx(3e-30)


@pytest.mark.parametrize("other", [Neighbours.ZERO_OUT, Neighbours.ADD_OR_REMOVE_ONE])
def test_relations_are_not_mixed(other):
    ledger = InMemoryLedger(1.0)
    with pytest.raises(ValueError, match="counts replace-one guarantees"):
        ledger.spend(statement(0.1, neighbours=other), purpose="fit")
    assert ledger.history() == ()
    InMemoryLedger(1.0, neighbours=other).spend(statement(neighbours=other), purpose="fit")


def test_threads_together_cannot_overspend():
    ledger = InMemoryLedger(1.0)

    def try_to_spend(fit):
        try:
            ledger.spend(statement(0.01), purpose=f"fit {fit}")
        except BudgetExceededError:
            return 0
        return 1

    with ThreadPoolExecutor(8) as threads:
        admitted = sum(threads.map(try_to_spend, range(300)))
    assert admitted == len(ledger.history()) == 100


def test_clones_and_copies_are_the_ledger_itself():
    ledger = InMemoryLedger(1.0)
    for copied in (
        clone(Fit(ledger)).ledger,
        clone(ledger),
        copy.copy(ledger),
        copy.deepcopy({"inside": [ledger]})["inside"][0],
    ):
        assert copied is ledger


def test_pickling_is_refused_and_says_why():
    for what in (InMemoryLedger(1.0), Fit(InMemoryLedger(1.0))):
        with pytest.raises(TypeError, match="in another process would spend without being counted"):
            pickle.dumps(what)
    assert pickle.loads(pickle.dumps(Fit().set_params(ledger=None))).ledger is None


def test_a_forked_copy_refuses_to_spend(monkeypatch):
    ledger = InMemoryLedger(1.0)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(PrivacyError, match="forked copy"):
        ledger.spend(statement(), purpose="fit")
    assert ledger.history() == ()


@pytest.mark.parametrize("cap", [(0.0, 0.0), (1.0, 1.0), (float("nan"), 0.0)], ids=str)
def test_an_impossible_cap_is_refused(cap):
    with pytest.raises(ValueError, match=r"epsilon|delta"):
        InMemoryLedger(*cap)


def test_the_relation_of_a_ledger_is_a_member_of_the_enumeration():
    assert InMemoryLedger(1.0, neighbours="zero-out").neighbours is Neighbours.ZERO_OUT
    with pytest.raises(ValueError, match="not a valid Neighbours"):
        InMemoryLedger(1.0, neighbours="one-off")


def test_what_only_a_non_adaptive_accountant_would_admit_is_refused():
    """Two releases whose joint curve meets the cap exactly, the second chosen after the first.

    If the second may be picked, from many such pairs, by what the first showed, the true delta
    is 5.3 times the cap: so a convolution over a ledger is no filter.
    """
    mu, cap = 0.2, PrivacyBudget(1.0, 1e-6)

    def joint(epsilon):
        chance = 1 / (1 + pow(2.718281828459045, -epsilon))
        agree, differ = (gaussian_delta(mu, cap.epsilon + sign * epsilon) for sign in (-1, 1))
        return chance * agree + (1 - chance) * differ

    second = brentq(lambda epsilon: joint(epsilon) - cap.delta, 1e-6, 1.0)
    first = gaussian_epsilon(mu, cap.delta)
    assert first < cap.epsilon
    ledger = InMemoryLedger(cap.epsilon, cap.delta)
    ledger.spend(statement(first, cap.delta), purpose="first")
    with pytest.raises(BudgetExceededError):
        ledger.spend(statement(second), purpose="chosen after seeing the first")
