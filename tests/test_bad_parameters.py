"""Parameters that are refused: by name, before anything is spent."""

import numpy as np
import pytest
from sklearn.base import clone

from skdp.embedding import PrivateCBOW
from skdp.linear_model import (
    PrivateElasticNet,
    PrivateElasticNetClassifier,
    SparseDPSGDClassifier,
    SparseDPSGDRegressor,
)
from skdp.neural_network import PrivateMLPClassifier
from tests.support.refusals import refuses_to_fit

X = np.random.default_rng(0).normal(size=(8, 3))
y = np.arange(8) % 2
BOTH = pytest.mark.parametrize(
    "estimator",
    [PrivateElasticNetClassifier(), PrivateElasticNet()],
    ids=["classifier", "regressor"],
)


@pytest.mark.parametrize(
    ("class_weight", "match"),
    [
        ("balanced", "one record changes the weight of all others. Declare a dict"),
        ({0: 1.0, 2: 1.0}, "outside of the classes"),
        ({"0": 1.0}, "outside of the classes"),
        ({0: -1.0}, "class_weight.*at least 0"),
        ({0: np.nan}, "class_weight.*finite"),
        ({0: np.inf}, "class_weight.*finite"),
        ({0: "1"}, "class_weight"),
        ({0: True}, "class_weight"),
        ({0: 0.0, 1: 0.0}, "largest_class_weight.*above 0"),
        ([1.0, 1.0], "class_weight"),
        ("other", "class_weight"),
    ],
)
def test_inadmissible_class_weights_are_refused(class_weight, match):
    model = PrivateElasticNetClassifier(class_weight=class_weight)
    refuses_to_fit(model, X, y, match=match)


NOT_POSITIVE = (0, 0.0, -1.0, np.nan, np.inf, "1", "one", None, [1.0], 1j, np.array([1.0, 2.0]))
INADMISSIBLE_VALUES = {
    "epsilon": (*NOT_POSITIVE, True, np.True_, 10**400),
    "delta": (-1e-9, 1, 1.0, 2.0, np.nan, np.inf, "0", None, True, False),
    "alpha": (0, -1e-3, np.nan, np.inf, "best", None, True, 1e31, 1e-31),
    "l1_ratio": (-0.1, 1.1, np.nan, "0.5", None, True, False),
    "row_norm": (*NOT_POSITIVE, True, 1e31, 1e-31),
    "intercept_scaling": (*NOT_POSITIVE, True, 1e31, 1e-31),
    "max_sample_weight": (*NOT_POSITIVE, True, 1e31, 1e-31),
    "tol": (*NOT_POSITIVE, True),
    "threshold": (-0.1, np.nan, np.inf, "best", True, False, 10**400),
    "fit_intercept": ("yes", 2, None),
    "noise": ("Gauss", None, 1),
    "bound": ("loose", None),
    "loss": ("hinge", None, ["log_loss"]),
    "random_state": (-1, "seed", 1.5, 2**64),
}


@BOTH
@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param(name, value, id=f"{name} {place}")
        for name, values in INADMISSIBLE_VALUES.items()
        for place, value in enumerate(values)
    ],
)
def test_inadmissible_parameters_are_refused_by_name(estimator, name, value):
    model = clone(estimator).set_params(**{name: value})
    refuses_to_fit(model, X, y, match=name)


@BOTH
@pytest.mark.parametrize("ledger", [5, {}], ids=str)
def test_a_ledger_that_cannot_be_spent_from_is_refused_by_name(estimator, ledger):
    with pytest.raises(ValueError, match=r"'ledger' parameter .* implementing 'spend'"):
        clone(estimator).set_params(ledger=ledger).fit(X, y)


@pytest.mark.parametrize("value", [*NOT_POSITIVE, True, 1e31])
def test_inadmissible_scales_of_a_regression_are_refused_by_name(value):
    refuses_to_fit(PrivateElasticNet(huber_threshold=value), X, y, match="huber_threshold")
    if value is not None:
        refuses_to_fit(PrivateElasticNet(y_bound=value), X, y, match="y_bound")


@BOTH
def test_no_strong_convexity_is_refused_with_the_reason(estimator):
    model = clone(estimator).set_params(l1_ratio=1.0)
    refuses_to_fit(model, X, y, match="one record can move the minimiser by any amount")


@BOTH
def test_gaussian_noise_without_a_delta_is_refused(estimator):
    model = clone(estimator).set_params(noise="gaussian")
    refuses_to_fit(model, X, y, match="Gaussian noise needs delta > 0")


def test_a_squared_loss_without_a_bound_on_the_labels_is_refused_with_the_reason():
    model = PrivateElasticNet("squared_error")
    refuses_to_fit(model, X, y, match="without a declared bound on the labels.*Set y_bound")


@BOTH
@pytest.mark.parametrize("parameters", [{"alpha": 1e-11}, {"alpha": 1e-4, "tol": 1e-17}], ids=str)
def test_what_cannot_be_certified_is_refused(estimator, parameters):
    model = clone(estimator).set_params(**parameters)
    refuses_to_fit(model, X, y, match="certif.*use")


SGD = pytest.mark.parametrize(
    "estimator",
    [SparseDPSGDClassifier(classes=[0, 1]), SparseDPSGDRegressor()],
    ids=["classifier", "regressor"],
)
SGD_VALUES = {
    "epsilon": INADMISSIBLE_VALUES["epsilon"],
    "delta": (0, -1e-9, 1, 1.5, np.nan, np.inf, "0", None, True),
    "n_epochs": (*NOT_POSITIVE, 1e10),
    "batch_size": (0, -1, 1.5, np.nan, "all", None, True, 9, 10**30),
    "sampling": ("Poisson", None, 1),
    "selector": ("topk", 3, ["gaussian"]),
    "max_grad_norm": (*NOT_POSITIVE, True, 1e13, 1e-13),
    "learning_rate": (0, -1.0, np.nan, np.inf, "constant", None, True),
    "optimizer": ("SGD", None),
    "alpha": (-1e-9, np.nan, np.inf, "auto", None, True),
    "average": ("yes", 2, None),
    "fit_intercept": ("yes", 2, None),
    "noise_schedule": ("constant", 1.0),
    "chunks": ("overlapping", None, True),
    "n_partial_fits": (0, -1, 1.5, None, "all"),
    "random_state": INADMISSIBLE_VALUES["random_state"],
}
SELECTING_VALUES = {
    "n_selected": (0, -1, 1.5, np.nan, "all", None, True, 5, 10**30),
    "selection_share": (0.0, 1.0, -0.1, np.nan, "half", None, True),
    "selected_grad_norm": (0, -1.0, np.nan, np.inf, "auto", True),
}


@SGD
@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, values in SGD_VALUES.items() for value in values],
    ids=repr,
)
def test_inadmissible_parameters_of_private_sgd_are_refused(estimator, name, value):
    refuses_to_fit(clone(estimator).set_params(**{name: value}), X, y, match=name)


@SGD
@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, values in SELECTING_VALUES.items() for value in values],
    ids=repr,
)
def test_inadmissible_parameters_of_a_selection_are_refused(estimator, name, value):
    model = clone(estimator).set_params(selector="exponential", **{name: value})
    refuses_to_fit(model, X, y, match=name)


NARROW = {
    "uint8": PrivateElasticNetClassifier(classes=[0, 1], max_rows_per_group=np.uint8(200)),
    "int32": SparseDPSGDClassifier(classes=[0, 1], delta=1e-6, n_epochs=np.int32(2)),
    "uint64": PrivateCBOW(vocabulary=["a", "b"], negative=np.uint64(8)),
    "uint16": PrivateMLPClassifier(classes=[0, 1], hidden_layer_sizes=(np.uint16(300),)),
}


@pytest.mark.parametrize("kind", NARROW)
def test_integers_whose_products_overflow_are_refused(kind):
    with pytest.raises(TypeError, match=rf"{kind}, in which products.*pass int\(value\)"):
        clone(NARROW[kind]).fit(X, y)


@pytest.mark.filterwarnings("ignore::skdp.exceptions.PrivacyLeakWarning")
def test_wide_integers_narrow_seeds_and_narrow_classes_are_taken():
    wide = {"epsilon": np.float64(1.0), "max_rows_per_group": np.int64(4)}
    classes = tuple(np.array([0, 1], dtype=np.int8))
    model = PrivateElasticNetClassifier(classes=classes, random_state=np.uint8(3), **wide)
    model.fit(X, y, groups=np.arange(8) % 3)
    assert model.privacy_.epsilon == 1.0
