"""Budgets, sensitivities and relations refuse what they cannot mean."""

import copy
import math
import pickle

import numpy as np
import pytest

from skdp.privacy import Neighbours, PrivacyBudget, Sensitivity


@pytest.mark.parametrize("epsilon", [0, -1.0, math.nan, math.inf, "1", None, True, 1j], ids=repr)
def test_an_epsilon_that_is_no_positive_number_is_refused(epsilon):
    with pytest.raises(ValueError, match="epsilon must be a finite number above 0"):
        PrivacyBudget(epsilon)


@pytest.mark.parametrize("delta", [-1e-9, 1, 2.0, math.nan, math.inf, "0", None, False], ids=repr)
def test_a_delta_outside_its_range_is_refused(delta):
    with pytest.raises(ValueError, match=r"delta must be a number in \[0, 1\)"):
        PrivacyBudget(1.0, delta)


@pytest.mark.parametrize("epsilon", [1, 1e-300, 1e300, np.float32(0.5), np.int64(3)], ids=repr)
def test_every_positive_number_is_an_epsilon(epsilon):
    assert PrivacyBudget(epsilon).epsilon == epsilon
    assert PrivacyBudget(epsilon).delta == 0


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, "1"], ids=repr)
def test_a_sensitivity_that_is_no_positive_number_is_refused(value):
    with pytest.raises(ValueError, match="value must be a finite number above 0"):
        Sensitivity(value, "l2", Neighbours.REPLACE_ONE)


def test_a_sensitivity_names_a_known_norm_and_a_relation():
    with pytest.raises(ValueError, match="norm must be"):
        Sensitivity(1.0, "l3", Neighbours.REPLACE_ONE)
    with pytest.raises(TypeError, match="Neighbours member"):
        Sensitivity(1.0, "l2", "replace-one")


def test_there_are_three_relations_and_they_differ():
    names = {"replace-one", "zero-out", "add-or-remove-one"}
    assert {relation.value for relation in Neighbours} == names
    budgeted = {Sensitivity(1.0, "l2", relation) for relation in Neighbours}
    assert len(budgeted) == 3


def test_what_is_promised_cannot_be_changed_afterwards():
    budget = PrivacyBudget(1.0, 1e-6)
    with pytest.raises(AttributeError):
        budget.epsilon = 2.0
    assert pickle.loads(pickle.dumps(budget)) == copy.deepcopy(budget) == budget
