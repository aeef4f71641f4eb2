"""The estimators of stable SGD: plans, refusals, what is charged, what comes out."""

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from skdp.exceptions import BudgetExceededError
from skdp.linear_model import (
    PrivateElasticNetClassifier,
    StableSGDClassifier,
    StableSGDRegressor,
)
from skdp.objectives import HuberHinge, SquaredHinge
from skdp.privacy import InMemoryLedger
from skdp.stability import (
    Ball,
    ConstantStep,
    Domain,
    ExampleDropout,
    InverseSquareRootStep,
    OptimalStep,
    SomePasses,
    StableRun,
    SuffixAverage,
    sgd_sensitivity,
)
from tests.support.neighbours import moved, recorded


def table(n=200, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) / math.sqrt(d)
    return X, (X[:, 0] + 0.1 * rng.normal(size=n) > 0).astype(int)


def fitted(**parameters):
    X, y = table()
    return StableSGDClassifier(classes=[0, 1], **parameters).fit(X, y)


class TestWhatComesOut:
    def test_many_inverse_steps_reach_the_certified_minimiser(self):
        X, y = table()
        common = {"alpha": 0.3, "l1_ratio": 0.1, "classes": [0, 1], "noise": "l2_laplace"}
        _, exact = recorded(PrivateElasticNetClassifier(**common), (X, y))
        model = StableSGDClassifier(n_epochs=100, average="suffix", random_state=0, **common)
        _, found = recorded(model, (X, y))
        np.testing.assert_allclose(found, exact, atol=0.01 * np.abs(exact).max())

    def test_with_a_generous_budget_it_predicts(self):
        X, y = table(2000)
        for loss in ("log_loss", "huber_hinge", "squared_hinge"):
            # The length of this noise has a long tail, and so have scores: hence the seeds.
            model = StableSGDClassifier(loss, epsilon=20, classes=[0, 1], random_state=0)
            assert model.fit(X, y).score(X, y) > 0.9
        regressor = StableSGDRegressor(epsilon=20, random_state=0).fit(X, 2 * X[:, 0])
        assert regressor.score(X, 2 * X[:, 0]) > 0.5

    def test_strings_and_several_classes(self):
        X, y = table()
        names = np.array(["a", "b", "c"])[y + (X[:, 1] > 0.5)]
        model = StableSGDClassifier(epsilon=100).fit(X, names)
        assert model.coef_.shape == (3, 5)
        assert model.predict_proba(X).shape == (200, 3)
        assert set(model.predict(X)) <= set("abc")

    def test_a_threshold_and_an_l1_penalty_leave_few_features(self):
        model = fitted(threshold="auto", l1_ratio=0.5, random_state=0)
        assert model.get_support().sum() < 5
        assert 0 < model.flip_probability(0.0) < 1

    def test_the_plain_pipeline_predicts_the_same(self):
        X, _ = table()
        for model in (
            fitted(),
            fitted(loss="huber_hinge"),
            StableSGDRegressor(epsilon=50).fit(X, X[:, 0]),
        ):
            np.testing.assert_array_equal(model.to_sklearn().predict(X), model.predict(X))

    def test_attributes_are_the_public_facts_and_the_release_alone(self):
        model = fitted(delta=1e-6)
        assert model.n_steps_ == 2000
        assert model.radius_ == math.inf
        names = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
        assert names == {
            "privacy_", "sensitivity_", "noise_scale_", "alpha_", "radius_", "n_steps_",
            "threshold_", "coef_", "intercept_", "classes_", "n_features_in_",
            "probability_factor_",
        }  # fmt: skip


class TestThePlan:
    def test_the_sensitivity_is_that_of_the_calculator(self):
        model = fitted(
            loss="huber_hinge", alpha=0.2, l1_ratio=0.5, batch_size=7, n_epochs=3,
            average="suffix", class_weight={1: 3.0}, max_sample_weight=2.0, row_norm=0.5,
            intercept_scaling=0.3, noise="l2_laplace",
        )  # fmt: skip
        run = StableRun(
            HuberHinge(), Domain(200, 5, 0.5, 0.3, 6.0), model._steps(), 3, batch_size=7,
            l1=0.1, l2=0.1, averaging=SuffixAverage(),
        )  # fmt: skip
        assert model._mechanism.sensitivity == sgd_sensitivity(run)

    def test_strings_stand_for_objects(self):
        pairs = (
            ({"learning_rate": "optimal", "alpha": 0.1}, {"learning_rate": OptimalStep(),
                                                          "alpha": 0.1}),
            ({"learning_rate": "constant", "eta0": 0.2}, {"learning_rate": ConstantStep(0.2)}),
            ({"learning_rate": "invscaling", "eta0": 0.2},
             {"learning_rate": InverseSquareRootStep(0.2)}),
            ({"average": "suffix"}, {"average": SuffixAverage()}),
            ({"projection": 2.0}, {"projection": Ball(2.0)}),
        )  # fmt: skip
        for names, objects in pairs:
            assert fitted(**names).sensitivity_ == fitted(**objects).sensitivity_

    def test_alpha_is_chosen_for_steps_that_divide_by_it_and_is_0_for_others(self):
        assert fitted().alpha_ > 0
        assert fitted(epsilon=10.0).alpha_ < fitted(epsilon=0.1).alpha_
        assert fitted(learning_rate="constant", eta0=0.5).alpha_ == 0
        assert fitted(loss="hinge").alpha_ > fitted(loss="huber_hinge").alpha_

    def test_squared_hinge_is_projected_to_the_ball_of_its_minimiser(self):
        model = fitted(loss="squared_hinge", alpha=0.1)
        assert model.radius_ == SquaredHinge().minimiser_radius(math.sqrt(2), 1.0, 0.1)
        free = fitted(loss="squared_hinge", alpha=0.1, projection=None)
        assert free.sensitivity_.value > 2 * model.sensitivity_.value

    def test_squared_error_has_a_bound_even_without_penalty_or_ball(self):
        X, y = table()
        model = StableSGDRegressor(
            "squared_error", y_bound=1.0, learning_rate=ConstantStep(0.1), batch_size=50, n_epochs=2
        ).fit(X, y)
        assert 0 < model.sensitivity_.value < 0.1

    def test_gradient_descent_is_a_batch_of_all_rows(self):
        model = fitted(
            loss="huber_hinge", batch_size=200, n_epochs=10, learning_rate=ConstantStep(0.2),
            noise="l2_laplace",
        )  # fmt: skip
        claimed = model._mechanism.sensitivity.value
        assert claimed == pytest.approx(2 * math.sqrt(2) * 10 * 0.2 / 200, rel=1e-6)

    def test_rows_that_sit_out_save_noise(self):
        steps = {"learning_rate": ConstantStep(0.2), "n_epochs": 2, "epsilon": 0.5}
        every = fitted(**steps)
        some = fitted(participation=SomePasses(0.5), **steps)
        dropped = fitted(participation=ExampleDropout(0.1), **steps)
        assert some.noise_scale_ == pytest.approx(every.noise_scale_ / 2, rel=1e-4)
        within = math.log1p(math.expm1(0.5) / 0.19)
        assert dropped.noise_scale_ == pytest.approx(every.noise_scale_ * 0.5 / within, rel=1e-4)
        assert dropped.privacy_.epsilon == 0.5
        assert "sits out" in dropped.privacy_.theorem
        assert dropped.privacy_.to_dict()["event"]["epsilon"] == pytest.approx(0.5)

    def test_storage_changes_no_plan(self):
        X, y = table()
        model = StableSGDClassifier(classes=[0, 1])
        scales = {
            clone(model).fit(Z, y).noise_scale_
            for Z in (X, sparse.csr_matrix(X), X.astype(np.float32))
        }
        assert len(scales) == 1


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"learning_rate": "constant"}, "Set eta0"),
        ({"learning_rate": "inverse", "eta0": 0.1}, "eta0 is set"),
        ({"learning_rate": ConstantStep(0.1), "eta0": 0.1}, "eta0 is set"),
        ({"learning_rate": "constant", "eta0": 5.0}, "Set eta0 to at most"),
        ({"learning_rate": "invscaling", "eta0": 1.0, "row_norm": 1e20}, None),
        ({"alpha": 0.0}, "Set alpha above 0"),
        ({"alpha": 0.1, "l1_ratio": 1.0}, "l1_ratio below 1"),
        ({"l1_ratio": 1.0}, "l1_ratio below 1"),
        ({"l1_ratio": 0.5, "learning_rate": ConstantStep(0.1)}, "Set alpha"),
        ({"batch_size": 201}, "larger than the number of rows"),
        ({"class_weight": "balanced"}, "class counts"),
        ({"class_weight": {7: 1.0}}, "outside of the classes"),
        ({"n_epochs": 0}, "n_epochs"),
        ({"n_epochs": 1.5}, "n_epochs"),
        ({"learning_rate": "adaptive", "eta0": 0.1}, "learning_rate"),
        ({"average": 10}, "average"),
    ],
)
def test_what_has_no_bound_is_refused_before_anything_is_spent(parameters, sentence):
    X, y = table()
    ledger = InMemoryLedger(10.0)
    model = StableSGDClassifier(classes=[0, 1], ledger=ledger, **parameters)
    if sentence is None:
        model.fit(X, y)
        return
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, y)
    assert len(ledger.history()) == 0
    assert not hasattr(model, "privacy_")


def test_the_weights_count_in_the_step_condition():
    assert fitted(learning_rate="constant", eta0=3.9).sensitivity_.value > 0
    with pytest.raises(ValueError, match="Set eta0 to at most"):
        fitted(learning_rate="constant", eta0=3.9, class_weight={0: 1.1})


def test_regressors_refuse_what_they_have_no_bound_for():
    X, y = table()
    with pytest.raises(ValueError, match="needs y_bound"):
        StableSGDRegressor("squared_error").fit(X, y)
    with pytest.raises(ValueError, match="Only binary"):
        StableSGDClassifier("hinge").fit(X, y + (X[:, 1] > 0.5))


def test_every_fit_spends_and_one_that_cannot_be_paid_releases_nothing():
    X, y = table()
    ledger = InMemoryLedger(2.5)
    model = StableSGDClassifier(epsilon=1.0, classes=[0, 1], ledger=ledger)
    model.fit(X, y).fit(X, y)
    with pytest.raises(BudgetExceededError):
        StableSGDClassifier(epsilon=1.0, classes=[0, 1], ledger=ledger).fit(X, y)
    assert [entry.purpose for entry in ledger.history()] == ["StableSGDClassifier.fit"] * 2


def test_neighbours_in_the_worst_place_reach_the_sensitivity_of_a_fit():
    """Support vectors in the linear part of the Huber hinge, all alike; a large penalty."""
    X = np.tile([[1.0, 0.0]], (40, 1))
    X_other = X.copy()
    X_other[0] = -X[0]
    y = np.ones(40, dtype=int)
    model = StableSGDClassifier(
        "huber_hinge", alpha=4.0, n_epochs=2, batch_size=10, fit_intercept=False,
        classes=[0, 1], random_state=0, noise="l2_laplace",
    )  # fmt: skip
    distance, mechanism = moved(model, (X, y), (X_other, y))
    assert 0.999 < distance / mechanism.sensitivity.value <= 1
    assert distance / (2 / (4.0 * 40 * 10)) > 8  # the rule that divides by the batch size
