"""What every estimator must satisfy."""

import inspect

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

import skdp.linear_model
from tests.support.instances import ESTIMATORS, classifiers, regressors

WEIGHTS_ARE_NOT_REPETITIONS = (
    "Repeated rows are other data: another public n, another sensitivity, other noise."
)
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS_ARE_NOT_REPETITIONS,
    "check_sample_weight_equivalence_on_sparse_data": WEIGHTS_ARE_NOT_REPETITIONS,
}


def expected_failures(estimator):
    return EXPECTED_FAILURES


def test_every_public_estimator_is_listed():
    public = {
        cls
        for _, cls in inspect.getmembers(skdp.linear_model, inspect.isclass)
        if issubclass(cls, BaseEstimator)
    }
    assert public == {type(estimator) for estimator in ESTIMATORS}


@parametrize_with_checks(
    [*classifiers(), *regressors()], expected_failed_checks=expected_failures, xfail_strict=True
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_the_constructor_takes_keywords_after_the_loss(estimator):
    parameters = list(inspect.signature(type(estimator)).parameters.values())
    assert parameters[0].name == "loss"
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in parameters[1:])
