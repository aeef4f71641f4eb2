"""PrivateMLPClassifier and PrivateMLPRegressor: what they learn, say and refuse."""

import math
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from dp_accounting import dp_event
from sklearn.base import clone
from sklearn.datasets import load_digits

from skdp.exceptions import BudgetExceededError, PrivacyLeakWarning
from skdp.neural_network import PrivateMLPClassifier, PrivateMLPRegressor
from skdp.privacy import InMemoryLedger, Neighbours
from skdp.privacy.accounting import epsilon_of
from skdp.privacy.gaussian_curve import gaussian_mu
from skdp.training import (
    ConstantNoise,
    PoissonSampler,
    ShuffledBatches,
    ValidationDecay,
    mlp_automatic,
)
from skdp.training.mlp_automatic import NetworkFacts

N, D = 2000, 4
rng = np.random.default_rng(7)
X = rng.uniform(-1, 1, size=(N, D))
y = (X[:, 0] * X[:, 1] > 0).astype(int)  # no line tells these apart
WAVE = np.abs(X[:, 0]) - 0.5 * X[:, 1]
SAMPLINGS = ("poisson", "shuffled", "fixed_size", "full")
GENEROUS = {
    "epsilon": 1e3, "delta": 1e-5, "classes": (0, 1), "hidden_layer_sizes": (32,),
    "random_state": 0,
}  # fmt: skip
QUICK = {"epsilon": 3.0, "delta": 1e-5, "hidden_layer_sizes": (8,), "n_epochs": 2}


def weights(model):
    return np.concatenate([a.ravel() for a in (*model.coefs_, *model.intercepts_)])


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix, sp.csr_array])
def test_every_sampling_learns_what_no_line_tells_apart_dense_and_sparse(sampling, container):
    model = PrivateMLPClassifier(**GENEROUS, sampling=sampling, n_epochs=60)
    assert model.fit(container(X), y).score(container(X), y) > 0.9


@pytest.mark.parametrize("activation", ["relu", "tanh", "logistic", "identity"])
def test_every_activation_learns_but_a_network_without_one_is_linear(activation):
    rate = 5.0 if activation == "logistic" else 0.5
    model = PrivateMLPClassifier(**GENEROUS, activation=activation, n_epochs=60, learning_rate=rate)
    score = model.fit(X, y).score(X, y)
    # A half-plane is right on 2/3 of the square at most (beyond x_0 + x_1 = 2/3), the others on
    # 0.96 in the worst of 12 runs: no seed is needed to tell them apart.
    assert score < 0.75 if activation == "identity" else score > 0.9


@pytest.mark.parametrize(
    "parameters",
    [
        {"optimizer": "sgd"},
        {"optimizer": "adam"},
        {"momentum": 0.0, "learning_rate": 2.0},
        {"average": False},
        {"alpha": 1e-4},
        {"hidden_layer_sizes": (16, 8)},
        {"hidden_layer_sizes": 32},
        {"hidden_layer_sizes": np.array([32])},
    ],
    ids=str,
)
def test_every_option_learns(parameters):
    model = PrivateMLPClassifier(**{**GENEROUS, "n_epochs": 60, **parameters})
    assert model.fit(X, y).score(X, y) > 0.85


def test_many_classes_at_once():
    digits, labels = load_digits(return_X_y=True)
    model = PrivateMLPClassifier(epsilon=3.0, delta=1e-5, classes=range(10), random_state=0)
    model.fit(digits / 16, labels)
    assert [c.shape for c in model.coefs_] == [(64, 100), (100, 10)]
    assert [b.shape for b in model.intercepts_] == [(100,), (10,)]
    assert (model.n_layers_, model.n_outputs_, model.out_activation_) == (3, 10, "softmax")
    assert model.score(digits / 16, labels) > 0.7
    probabilities = model.predict_proba(digits / 16)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(
        model.classes_[probabilities.argmax(axis=1)], model.predict(digits / 16)
    )


@pytest.mark.parametrize("scale", [0.01, 1.0, 1000.0])
def test_regression_of_labels_of_any_declared_scale(scale):
    model = PrivateMLPRegressor(epsilon=30.0, delta=1e-5, y_bound=1.5 * scale, random_state=0)
    assert model.fit(X, scale * WAVE).score(X, scale * WAVE) > 0.8
    assert (model.n_outputs_, model.out_activation_) == (1, "identity")


def test_labels_beyond_the_bound_count_as_the_bound():
    given = {**QUICK, "random_state": 0, "y_bound": 0.2}
    first, second = (
        PrivateMLPRegressor(**given).fit(X, labels) for labels in (WAVE, np.clip(WAVE, -0.2, 0.2))
    )
    np.testing.assert_array_equal(weights(first), weights(second))


def test_there_is_no_trace_of_a_run_in_a_fitted_model():
    model = PrivateMLPClassifier(**QUICK).fit(X, y)
    public = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    assert public == {
        "classes_", "coefs_", "intercepts_", "n_layers_", "n_outputs_", "out_activation_",
        "n_features_in_", "privacy_", "noise_multiplier_", "max_grad_norm_", "learning_rate_",
        "batch_size_", "n_steps_", "center_", "components_", "row_scale_",
    }  # fmt: skip


def test_settings_that_were_used_are_public_facts():
    model = PrivateMLPClassifier().fit(X, y)
    other = PrivateMLPClassifier(classes=(0, 1)).fit(-7 * X, np.zeros(N, dtype=int))
    for name in ("noise_multiplier_", "n_steps_", "batch_size_", "learning_rate_"):
        assert getattr(model, name) == getattr(other, name)


@pytest.mark.parametrize(("epsilon", "scale"), [(1.0, 1.0), (2.0, 1.0), (4.0, 1.11), (8.0, 2.0)])
def test_rows_are_lengthened_as_noise_falls(epsilon, scale):
    facts = NetworkFacts(60_000, 795_010, 1000, epsilon, 1e-5, 1)
    assert facts.row_scale() == pytest.approx(scale, rel=0.02)


def test_the_weights_begin_at_random_and_know_no_data():
    kwargs = {**QUICK, "classes": (0, 1), "learning_rate": 1e-12, "center": None}
    first, same, other = (
        weights(PrivateMLPClassifier(**kwargs, random_state=seed).fit(rows, y))
        for seed, rows in ((0, X), (0, -X), (1, X))
    )
    np.testing.assert_allclose(first, same, atol=1e-9)
    assert np.abs(first - other).max() > 0.1


class TestStatement:
    def test_names_the_event_that_ran(self):
        model = PrivateMLPClassifier(
            (8,), epsilon=1.0, delta=1e-5, n_epochs=4, batch_size=100, center=None
        ).fit(X, y)
        event = model.privacy_.event
        assert isinstance(event, dp_event.SelfComposedDpEvent)
        assert event.count == model.n_steps_ == 80
        assert event.event.sampling_probability == 100 / N
        assert 0.99 < epsilon_of(event, 1e-5) <= 1.0
        assert any("intercept included, is clipped" in a for a in model.privacy_.assumptions)
        assert model.privacy_.explain()

    @pytest.mark.parametrize(
        ("sampling", "neighbours"),
        [
            ("poisson", "zero-out"),
            ("shuffled", "zero-out"),
            ("full", "zero-out"),
            ("fixed_size", "replace-one"),
            (PoissonSampler(0.05, 100.0, Neighbours.REPLACE_ONE), "replace-one"),
            (ShuffledBatches(100, N, Neighbours.REPLACE_ONE), "replace-one"),
        ],
    )
    def test_names_the_relation_of_the_sampler(self, sampling, neighbours):
        model = PrivateMLPClassifier(**QUICK, sampling=sampling).fit(X, y)
        assert model.privacy_.neighbours.value == neighbours

    def test_of_declared_classes_says_so(self):
        declared, read = (
            PrivateMLPClassifier(**QUICK, classes=classes).fit(X, y).privacy_.assumptions
            for classes in ((0, 1), None)
        )
        assert any("was declared" in fact for fact in declared)
        assert any("taken from y" in fact for fact in read)


class TestRefusals:
    """Before anything is spent."""

    def refused(self, match, error=ValueError, estimator=PrivateMLPClassifier, **parameters):
        ledger = InMemoryLedger(100.0, 1e-2, Neighbours.ZERO_OUT)
        model = estimator(ledger=ledger, **parameters)
        with pytest.raises(error, match=match):
            model.fit(X, y)
        assert ledger.history() == ()
        assert not hasattr(model, "coefs_")

    def test_of_a_private_number_of_rows(self):
        sampling = PoissonSampler(0.05, 100.0, Neighbours.ADD_OR_REMOVE_ONE)
        self.refused("no guarantee for add-or-remove-one", sampling=sampling)

    def test_of_noise_whose_grid_is_too_coarse_for_so_many_weights(self):
        self.refused(
            "Take fewer hidden units .* or raise", epsilon=1e-4, hidden_layer_sizes=(300, 300)
        )

    @pytest.mark.parametrize("sizes", [(0,), (-1,), (2.5,), (True,), 0, ("3",)])
    def test_of_layers_without_units(self, sizes):
        self.refused("hidden_layer_sizes", hidden_layer_sizes=sizes)

    def test_of_delta_zero(self):
        self.refused("delta", delta=0.0)

    def test_of_a_step_that_turns_weights_around(self):
        self.refused("alpha times the learning rate", alpha=2.0, learning_rate=0.5)

    def test_of_a_batch_larger_than_the_table(self):
        self.refused("larger than the number of rows", batch_size=2001)

    def test_of_labels_that_were_not_declared(self):
        self.refused("outside of the declared classes", classes=[0, 2])

    def test_of_validation_data_that_nothing_uses(self):
        self.refused("only a schedule such as ValidationDecay", validation_data=(X, y))

    def test_of_a_schedule_without_validation_data(self):
        self.refused("needs validation rows", noise_schedule=ValidationDecay(None, None))

    def test_of_validation_data_from_two_sources_or_of_three_parts(self):
        schedule = ValidationDecay(X, y)
        self.refused("given twice", noise_schedule=schedule, validation_data=(X, y))
        given = {"noise_schedule": ValidationDecay(), "validation_data": (X, y, y)}
        self.refused("must be a pair", **given)

    def test_of_more_units_than_there_is_memory_for(self):
        self.refused("no memory for", hidden_layer_sizes=(10**9,), n_epochs=1)

    def test_of_validation_data_that_does_not_fit(self):
        schedule = ValidationDecay(None, None)
        for data in ((X[:, :2], y), (X, y + 1), (X, None)):
            self.refused(None, noise_schedule=schedule, validation_data=data, classes=(0, 1))

    def test_of_what_the_ledger_cannot_afford(self):
        ledger = InMemoryLedger(0.5, 1e-5, Neighbours.ZERO_OUT)
        with pytest.raises(BudgetExceededError):
            PrivateMLPClassifier(ledger=ledger).fit(X, y)
        assert ledger.history() == ()


def test_a_delta_that_one_published_row_would_keep_warns():
    with pytest.warns(PrivacyLeakWarning, match=r"delta=0.001 is at least 1 / n_samples = 0.0005"):
        PrivateMLPClassifier(**{**QUICK, "delta": 1e-3}).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PrivateMLPClassifier(**QUICK).fit(X, y)


def test_blocks_take_turns_and_a_row_pays_for_its_own():
    blocks = np.array(["a", "b", "c", "d"])[np.arange(N) % 4]
    model = PrivateMLPClassifier(**GENEROUS, n_epochs=60, center=None).fit(X, y, blocks=blocks)
    assert model.n_steps_ == 240
    assert model.privacy_.event.count == 60
    assert model.score(X, y) > 0.85


class TestChunks:
    def chunks(self):
        return [(X[i : i + 500], y[i : i + 500]) for i in range(0, N, 500)]

    def make(self, **parameters):
        given = {**QUICK, "classes": [0, 1], "batch_size": 50, "delta": 1e-4}
        return PrivateMLPClassifier(**{**given, **parameters})

    def test_that_are_disjoint_are_learnt_for_the_price_of_one(self):
        ledger = InMemoryLedger(1e4, 1e-2, Neighbours.ZERO_OUT)
        model = self.make(
            epsilon=1e3, n_epochs=20, hidden_layer_sizes=(32,), ledger=ledger, learning_rate=0.3,
            random_state=0,
        )  # fmt: skip
        for rows, labels in self.chunks() * 2:
            model.partial_fit(rows, labels)
        assert model.score(X, y) > 0.85
        assert ledger.spent() == (1e3, 1e-4)

    def test_over_the_same_records_compose_and_end(self):
        model = self.make(chunks="same", n_partial_fits=2)
        once = self.make().fit(*self.chunks()[0])
        for _ in range(2):
            model.partial_fit(*self.chunks()[0])
        assert model.privacy_.event.count == 2
        assert model.noise_multiplier_ > once.noise_multiplier_
        with pytest.raises(BudgetExceededError, match="n_partial_fits=2"):
            model.partial_fit(*self.chunks()[0])

    def test_go_on_where_the_last_one_ended(self):
        kwargs = {"epsilon": 1e3, "learning_rate": 1e-12}
        model = self.make(**kwargs).partial_fit(*self.chunks()[0])
        before = weights(model)
        np.testing.assert_allclose(weights(model.partial_fit(*self.chunks()[1])), before, atol=1e-9)
        regressor = PrivateMLPRegressor(**QUICK, y_bound=30.0, learning_rate=1e-12)
        before = weights(regressor.partial_fit(X, WAVE))
        np.testing.assert_allclose(weights(regressor.partial_fit(X, WAVE)), before, atol=1e-8)

    def test_need_classes_at_first(self):
        with pytest.raises(ValueError, match="classes must be passed on the first call"):
            self.make(classes=None).partial_fit(*self.chunks()[0])

    def test_of_other_sizes_cost_the_same(self):
        model = self.make().partial_fit(*self.chunks()[0])
        event = model.privacy_.event
        assert model.partial_fit(X[:123], y[:123]).privacy_.event == event
        assert np.isfinite(weights(model.partial_fit(X[:1], y[:1]))).all()


def test_outputs_beyond_all_numbers_are_scored_without_a_word():
    """The score of public rows decides about the noise, whatever the weights have come to."""
    schedule = ValidationDecay(X[:50], X[:50, 0], period=2, window=1)
    model = PrivateMLPRegressor(
        (3,) * 30, "identity", epsilon=3.0, delta=1e-5, learning_rate=1e12, n_epochs=4,
        batch_size=200, noise_schedule=schedule,
    )  # fmt: skip
    assert model.fit(X, X[:, 0]).n_steps_ > 0


class TestAdaptiveSchedule:
    def make(self, **parameters):
        schedule = ValidationDecay(None, None, period=3, window=2, factor=0.7, threshold=1.0)
        given = {
            "epsilon": 3.0, "delta": 1e-5, "hidden_layer_sizes": (8,), "n_epochs": 12,
            "batch_size": 200, "noise_schedule": schedule, "validation_data": (X[:50], y[:50]),
            "classes": (0, 1),
        }  # fmt: skip
        return PrivateMLPClassifier(**{**given, **parameters})

    @pytest.mark.parametrize("sampling", ["poisson", "shuffled"])
    def test_decays_on_public_data_and_promises_the_budget(self, sampling):
        model = self.make(sampling=sampling).fit(X, y)
        epochs = len(model.noise_multipliers_)
        assert len(model.validation_scores_) == epochs <= 12
        assert model.n_steps_ == 10 * epochs
        assert model.noise_multipliers_[-1] < model.noise_multipliers_[0]
        assert epsilon_of(model.privacy_.event, 1e-5) <= 3.0
        assert any("validation data" in fact for fact in model.privacy_.assumptions)

    def test_scores_are_those_of_the_model(self):
        model = self.make().fit(X, y)
        assert model.validation_scores_[-1] == model.score(X[:50], y[:50])

    def test_of_regression_and_of_chunks(self):
        schedule = ValidationDecay(None, None, period=3, window=2, factor=0.7)
        model = PrivateMLPRegressor(
            **{**QUICK, "n_epochs": 6}, y_bound=1.5, noise_schedule=schedule,
            validation_data=(X[:50], WAVE[:50]),
        )  # fmt: skip
        model.fit(X, WAVE)
        assert model.validation_scores_[-1] == pytest.approx(model.score(X[:50], WAVE[:50]))
        chunked = self.make(batch_size="auto").partial_fit(X, y).partial_fit(X[:1000], y[:1000])
        assert len(chunked.validation_scores_) > 0

    def test_is_forgotten_by_a_fit_without_one(self):
        model = self.make().fit(X, y)
        model.set_params(noise_schedule=None, validation_data=None).fit(X, y)
        assert not hasattr(model, "validation_scores_")


def test_objects_for_strings():
    sampling = PoissonSampler.of_batch_size(50, N)
    model = PrivateMLPClassifier(**QUICK, noise_schedule=ConstantNoise(), sampling=sampling)
    assert model.fit(X, y).n_steps_ == 80


def test_float32_rows_change_little():
    kwargs = {**QUICK, "random_state": 0, "classes": (0, 1)}
    wide, narrow = (
        weights(PrivateMLPClassifier(**kwargs).fit(data, y)) for data in (X, X.astype(np.float32))
    )
    np.testing.assert_allclose(narrow, wide, atol=1e-3)


def test_dense_and_sparse_rows_give_nearly_the_same_model():
    kwargs = {**QUICK, "random_state": 0, "classes": (0, 1), "center": None}
    rows = np.where(np.abs(X) > 0.4, X, 0)
    dense, sparse = (
        weights(PrivateMLPClassifier(**kwargs).fit(data, y)) for data in (rows, sp.csr_matrix(rows))
    )
    np.testing.assert_allclose(sparse, dense, atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_plain_model_predicts_the_same(n_classes):
    frame = pd.DataFrame(X, columns=list("abcd"))
    labels = np.array(["x", "y", "z"])[(np.arange(N) + y) % n_classes]
    model = PrivateMLPClassifier(**{**QUICK, "hidden_layer_sizes": (8, 5)}, activation="tanh")
    plain = model.fit(frame, labels).to_sklearn()
    np.testing.assert_array_equal(plain.predict(frame), model.predict(frame))
    np.testing.assert_allclose(plain.predict_proba(frame), model.predict_proba(frame), atol=1e-12)
    regression = PrivateMLPRegressor(**QUICK, y_bound=2.0).fit(X, WAVE)
    np.testing.assert_allclose(regression.to_sklearn().predict(X), regression.predict(X))


def test_the_plain_model_is_a_copy():
    model = PrivateMLPClassifier(**QUICK).fit(X, y)
    before = weights(model)
    plain = model.to_sklearn()
    plain.coefs_[0] += 1
    plain.intercepts_[0] += 1
    np.testing.assert_array_equal(weights(model), before)


def test_saved_models_predict_the_same_and_leave_seed_and_ledger_behind():
    model = PrivateMLPClassifier(**QUICK, random_state=5, classes=(0, 1)).partial_fit(X, y)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.random_state is None
    assert clone(model).random_state == 5


def test_an_absent_class_and_constant_columns_are_no_news():
    model = PrivateMLPClassifier(**QUICK, classes=(0, 1))
    for rows in (np.zeros((N, 3)), np.full((N, 3), 1e300), sp.csr_matrix((N, 3))):
        assert np.isfinite(weights(model.fit(rows, np.zeros(N, dtype=int)))).all()


def test_the_bar_shows_steps_epochs_noise_and_epsilon_alone(capsys):
    PrivateMLPClassifier(**QUICK, batch_size=100, verbose=1).fit(X, y)
    shown = capsys.readouterr().out
    assert "step 40 of 40" in shown
    assert "epoch 2.0, epsilon spent 3, sigma" in shown.replace("\n", " ")


class TestCentre:
    """What is released of the rows before training."""

    FAR = X + 3.0

    def model(self, **parameters):
        given = {**GENEROUS, "center": "private", "center_norm": 10.0, "random_state": 0}
        return PrivateMLPClassifier(**{**given, **parameters})

    @pytest.mark.filterwarnings("ignore::skdp.exceptions.PrivacyLeakWarning")
    def test_it_is_the_mean_and_moves_into_the_biases(self):
        model = self.model(n_epochs=60).fit(self.FAR, y)
        np.testing.assert_allclose(model.center_, self.FAR.mean(axis=0), atol=0.02)
        assert model.score(self.FAR, y) > 0.9
        plain = model.to_sklearn()
        np.testing.assert_allclose(
            plain.predict_proba(self.FAR), model.predict_proba(self.FAR), atol=1e-12
        )

    @pytest.mark.filterwarnings("ignore::skdp.exceptions.PrivacyLeakWarning")
    def test_training_around_it_is_training_on_rows_less_it(self):
        parts = []
        for rows, center in ((self.FAR, "private"), (self.FAR - 3.0, None)):
            extra = {} if center else {"center_norm": None}
            model = self.model(epsilon=1e3, center=center, n_epochs=60, **extra)
            parts.append(model.fit(rows, y).score(rows, y))
        assert abs(parts[0] - parts[1]) < 0.05

    def test_it_is_charged_with_the_run(self):
        model = self.model(epsilon=1.0, random_state=None).fit(self.FAR, y)
        statement = model.privacy_
        prior, run = statement.event.events
        mu = gaussian_mu(1.0, 1e-5)
        assert prior.sensitivity / prior.noise_std == pytest.approx(mu * math.sqrt(0.05), rel=1e-6)
        assert prior.sensitivity == pytest.approx(10.0, rel=1e-4)
        assert 0.99 < statement.epsilon_at(1e-5) <= 1.0
        assert epsilon_of(run, 1e-5) < epsilon_of(statement.event, 1e-5)
        without = self.model(epsilon=1.0, center=None, center_norm=None, random_state=None)
        noise = without.fit(self.FAR, y).noise_multiplier_
        assert 1.01 < model.noise_multiplier_ / noise < 1.04

    def test_auto_takes_it_where_it_costs_little(self):
        for epsilon, there in ((1.0, True), (0.02, False)):
            model = PrivateMLPClassifier(**{**QUICK, "epsilon": epsilon}).fit(X, y)
            assert (model.center_ is not None) is there
        sparse = PrivateMLPClassifier(**QUICK).fit(sp.csr_array(X), y)
        assert sparse.center_ is None

    def test_a_model_that_goes_on_keeps_it(self):
        model = PrivateMLPClassifier(**{**QUICK, "center": "private"})
        first = model.partial_fit(self.FAR[:1000], y[:1000], classes=(0, 1)).center_.copy()
        later = model.partial_fit(self.FAR[1000:], y[1000:]).center_
        np.testing.assert_array_equal(first, later)
        assert not np.array_equal(model.fit(self.FAR, y).center_, first)

    @pytest.mark.parametrize(
        ("parameters", "lengthens"),
        [
            ({}, True),
            ({"learning_rate": 0.1}, False),
            ({"optimizer": "adam"}, False),
            ({"center": None, "center_norm": None}, False),
        ],
        ids=str,
    )
    def test_rows_are_lengthened_around_it_if_the_rate_is_automatic(
        self, parameters, lengthens, monkeypatch
    ):
        assert self.model(n_epochs=1).fit(self.FAR, y).row_scale_ == 1.0  # of so few rows
        monkeypatch.setattr(mlp_automatic, "_LENGTHENED", 10.0)
        model = self.model(n_epochs=1).set_params(**parameters)
        assert model.fit(self.FAR, y).row_scale_ == (2.0 if lengthens else 1.0)

    def test_the_first_layer_then_learns_faster_from_the_same_start(self, monkeypatch):
        model = self.model(
            optimizer="sgd", average=False, sampling="full", n_epochs=1, max_grad_norm=20.0
        )
        first = {}
        for scale in (1.0, 2.0):
            monkeypatch.setattr(NetworkFacts, "row_scale", lambda self, scale=scale: scale)
            for rate in (1e-12, 0.01):
                monkeypatch.setattr(NetworkFacts, "learning_rate", lambda *_, rate=rate: rate)
                first[scale, rate] = model.fit(self.FAR, y).coefs_[0]
        np.testing.assert_allclose(first[2.0, 1e-12], first[1.0, 1e-12], rtol=1e-9)
        slow, fast = (first[scale, 0.01] - first[scale, 1e-12] for scale in (1.0, 2.0))
        np.testing.assert_allclose(fast, 4 * slow, atol=0.2 * np.abs(fast).max())

    def test_a_model_that_goes_on_lengthens_what_it_had(self, monkeypatch):
        monkeypatch.setattr(NetworkFacts, "row_scale", lambda self: 2.0)
        monkeypatch.setattr(NetworkFacts, "learning_rate", lambda *_: 1e-12)
        model = PrivateMLPClassifier(**{**QUICK, "center": "private"})
        before = weights(model.partial_fit(self.FAR[:1000], y[:1000], classes=(0, 1)))
        after = weights(model.partial_fit(self.FAR[1000:], y[1000:]))
        np.testing.assert_allclose(after, before, rtol=1e-6, atol=1e-9)

    def test_sparse_rows_after_dense_ones_are_refused_before_the_charge(self):
        ledger = InMemoryLedger(10.0, 1e-3, "zero-out")
        model = PrivateMLPClassifier(**{**QUICK, "center": "private", "ledger": ledger})
        model.partial_fit(X[:1000], y[:1000], classes=(0, 1))
        with pytest.raises(ValueError, match="Set center=None in a new model"):
            model.partial_fit(sp.csr_array(X[1000:]), y[1000:])
        assert len(ledger.history()) == 1

    @pytest.mark.parametrize(
        ("parameters", "rows", "sentence"),
        [
            ({}, sp.csr_array(X), "Set center=None"),
            ({"center": None}, X, "with center=None nothing uses it"),
            ({"noise_schedule": ValidationDecay(X, y)}, X, "Set center=None"),
        ],
    )
    def test_what_cannot_be_is_refused_before_the_spend(self, parameters, rows, sentence):
        ledger = InMemoryLedger(10.0, 1e-3, "zero-out")
        model = self.model(epsilon=1.0, random_state=None, ledger=ledger).set_params(**parameters)
        with pytest.raises(ValueError, match=sentence):
            model.fit(rows, y)
        assert ledger.history() == ()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("activation", ["relu", "identity", "tanh"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_probabilities_of_any_finite_row_are_probabilities(n_classes, activation, dtype, storage):
    """Terms of opposite infinite sizes used to leave no number."""
    rng = np.random.default_rng(0)
    rows = np.finfo(dtype).max * rng.choice([-1.0, 1.0, 0.0], size=(60, 3)).astype(dtype)
    model = PrivateMLPClassifier((8,), activation=activation, n_epochs=1)
    model.set_params(classes=range(n_classes), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(np.eye(200, 3), np.arange(200) % n_classes)
    found = model.predict_proba(storage(rows))
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-6)
    assert ((found >= 0) & (found <= 1)).all()
    assert np.isfinite(model.decision_function(storage(rows))).all()
    assert not np.isnan(model.predict_log_proba(storage(rows))).any()


def test_predictions_of_any_finite_row_are_numbers():
    model = PrivateMLPRegressor((4,), n_epochs=1, y_bound=1.0)
    model.fit(np.eye(100, 3), np.arange(100) / 100)
    rows = np.finfo(float).max * np.array([[1.0, -1.0, 1.0], [-1.0, -1.0, 1.0], [1.0, 1.0, -1.0]])
    assert np.isfinite(model.predict(rows)).all()


class TestComponents:
    """Training within a few directions that are released first."""

    rng = np.random.default_rng(3)
    PLANE = np.linalg.qr(rng.normal(size=(300, 4)))[0]
    WIDE = X @ PLANE.T + 0.02 * rng.normal(size=(N, 300)) + 0.1
    ROUND = rng.normal(size=(N, 300)) / 10

    def model(self, **parameters):
        given = {**GENEROUS, "n_epochs": 40, "center_norm": 3.0}
        return PrivateMLPClassifier(**{**given, **parameters})

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_rows_are_seen_in_few_directions_and_weights_are_for_rows_as_they_came(self, dtype):
        rows = self.WIDE.astype(dtype)
        model = self.model(n_components=5).fit(rows, y)  # four of the plane, and the labels' own
        assert model.components_.shape == (5, 300)
        np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(5), atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(model.components_ @ self.PLANE), 2, atol=0.02)
        assert model.coefs_[0].shape == (300, 32)
        outside = model.coefs_[0] - model.components_.T @ (model.components_ @ model.coefs_[0])
        np.testing.assert_allclose(outside, 0.0, atol=1e-9)
        assert model.score(rows, y) > 0.9
        plain = model.to_sklearn()
        np.testing.assert_allclose(
            plain.predict_proba(self.WIDE), model.predict_proba(self.WIDE), atol=1e-5
        )

    def test_directions_that_hold_little_are_seen_where_labels_lie_along_them(self):
        """40 of 300 columns hold nearly all of the variance; one of the others is the label's."""
        rows = self.rng.normal(size=(20_000, 300)) * np.r_[np.full(40, 0.1), np.full(260, 0.01)]
        first, second = rows[:, 200] > 0, rows[:, 250] > 0
        for n_classes, classes in ((2, first.astype(int)), (3, np.where(first, 2, second))):
            model = self.model(classes=range(n_classes), epsilon=30.0, n_components=40)
            frame = model.fit(rows, classes).components_
            np.testing.assert_allclose(frame @ frame.T, np.eye(40), atol=1e-12)
            seen = np.linalg.norm(frame[:, [200, 250][: n_classes - 1]], axis=0)
            assert (seen > 0.8).all()
            assert np.linalg.norm(frame[:, 150]) < 0.5

    def test_all_directions_are_a_turn_of_the_rows(self):
        model = self.model(n_components=4, center_norm=2.0).fit(X, y)
        assert model.components_.shape == (4, 4)
        assert model.score(X, y) > 0.9

    def test_they_are_charged_with_the_run(self):
        model = self.model(n_components=4, epsilon=1.0, random_state=None).fit(self.WIDE, y)
        (statistics, moment), run = model.privacy_.event.events[0].events, model.privacy_.event
        mu = gaussian_mu(1.0, 1e-5)
        for event, share in ((statistics, 0.05), (moment, 0.15)):
            found = event.sensitivity / event.noise_std
            assert found == pytest.approx(mu * math.sqrt(share), rel=1e-6)
        assert statistics.sensitivity == pytest.approx(math.sqrt(1 + 0.7**2), rel=1e-3)
        assert moment.sensitivity == pytest.approx(math.sqrt(2), rel=1e-2)
        assert 0.99 < epsilon_of(run, 1e-5) <= 1.0
        theorem = model.privacy_.theorem
        assert "their squared norms; then" in theorem
        assert "second moment, and on their products with coded labels" in theorem
        without = self.model(center=None, center_norm=None, n_components=None, epsilon=1.0)
        noise = without.fit(self.WIDE, y).noise_multiplier_
        assert 1.09 < model.noise_multiplier_ / noise < 1.14

    @pytest.mark.parametrize(
        ("rows", "parameters", "is_there"),
        [
            ("WIDE", {}, True),
            ("WIDE", {"n_components": None}, False),
            ("WIDE", {"epsilon": 3.0}, False),  # too much noise
            ("WIDE", {"center": None, "center_norm": None}, False),
            ("ROUND", {}, False),  # found out by what was released
            ("X", {}, False),
            ("WIDE", {"center_norm": 1e6}, False),  # rows so short that all is noise
        ],
        ids=str,
    )
    def test_auto_takes_them_where_few_directions_hold_most(self, rows, parameters, is_there):
        rows = globals()["X"] if rows == "X" else getattr(self, rows)
        model = self.model(epsilon=30.0, n_epochs=1).set_params(**parameters).fit(rows, y)
        assert (model.components_ is not None) is is_there
        if is_there:
            assert model.components_.shape == (50, 300)

    def test_what_was_paid_does_not_depend_on_whether_they_are_kept(self):
        kept, left = (self.model(epsilon=30.0, n_epochs=1).fit(rows, y).privacy_
                      for rows in (self.WIDE, self.ROUND))  # fmt: skip
        assert kept.event == left.event

    def test_a_model_that_goes_on_keeps_them_and_where_it_was(self):
        model = self.model(n_components=4, learning_rate=1e-9, n_epochs=1)
        half = N // 2
        model.partial_fit(self.WIDE[:half], y[:half])
        before, frame = weights(model), model.components_.copy()
        model.partial_fit(self.WIDE[half:], y[half:])
        np.testing.assert_array_equal(model.components_, frame)
        np.testing.assert_allclose(weights(model), before, atol=1e-6)

    @pytest.mark.parametrize(
        ("parameters", "words"),
        [
            ({"n_components": 5}, "more than the 4 columns"),
            ({"n_components": 2, "center": None, "center_norm": None}, "center=None"),
            ({"n_components": 2, "max_rows_per_group": 1, "n_groups": N}, "max_rows_per_group"),
            ({"n_components": 2, "noise_schedule": ValidationDecay(X, y)}, "center=None"),
            ({"n_components": 0}, "n_components"),
        ],
        ids=str,
    )
    def test_refused(self, parameters, words):
        ledger = InMemoryLedger(1e4, 1e-2, "zero-out")
        model = self.model(ledger=ledger, random_state=None).set_params(**parameters)
        groups = {"groups": np.arange(N)} if "n_groups" in parameters else {}
        with pytest.raises(ValueError, match=words):
            model.fit(X, y, **groups)
        assert ledger.history() == ()

    def test_groups_keep_all_directions(self):
        """A group without a row would count as one in the second moment."""
        model = self.model(epsilon=30.0, n_epochs=1, max_rows_per_group=1, n_groups=N + 1)
        assert model.fit(self.WIDE, y, groups=np.arange(N)).components_ is None

    def test_more_columns_than_a_moment_is_made_of(self):
        rows = np.zeros((40, 5000), np.float32)
        with pytest.raises(ValueError, match="at most 4096 columns and classes"):
            self.model(n_components=2).fit(rows, np.arange(40) % 2)
        assert self.model(n_epochs=1).fit(rows, np.arange(40) % 2).components_ is None

    def test_sparse_rows_are_refused(self):
        with pytest.raises(ValueError, match="dense"):
            self.model(n_components=2).fit(sp.csr_array(X), y)

    def test_the_regressor_has_them_too(self):
        model = PrivateMLPRegressor(
            epsilon=1e3, delta=1e-5, y_bound=1.5, n_components=4, center_norm=3.0, random_state=0
        )
        assert model.fit(self.WIDE, WAVE).score(self.WIDE, WAVE) > 0.7
        assert model.components_.shape == (4, 300)
