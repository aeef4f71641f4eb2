"""SparseDPSGDClassifier and SparseDPSGDRegressor: what they learn, say and refuse."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from dp_accounting import dp_event
from sklearn.datasets import load_digits, make_classification
from sklearn.linear_model import LogisticRegression

from skdp.exceptions import BudgetExceededError, PrivacyLeakWarning
from skdp.linear_model import SparseDPSGDClassifier, SparseDPSGDRegressor
from skdp.privacy import InMemoryLedger, Neighbours
from skdp.privacy.accounting import epsilon_of
from skdp.training import ConstantNoise, GaussianSelector, PoissonSampler, ShuffledBatches

N, D = 2000, 20
rng = np.random.default_rng(7)
X, y = make_classification(N, D, n_informative=8, random_state=3)
X /= np.linalg.norm(X, axis=1, keepdims=True)
SPARSE = sp.csr_matrix(np.where(np.abs(X) > 0.2, X, 0.0))
SAMPLINGS = ("poisson", "shuffled", "fixed_size", "full")
SELECTORS = (
    "gaussian", "exponential", "noisy_max", "permute_and_flip", "sparse_vector", "adafest",
)  # fmt: skip
GENEROUS = {"epsilon": 1e3, "delta": 1e-5, "classes": (0, 1), "random_state": 0}


def test_with_a_large_epsilon_it_finds_what_logistic_regression_finds():
    model = SparseDPSGDClassifier(**GENEROUS, n_epochs=300, learning_rate=8.0, max_grad_norm=5.0)
    exact = LogisticRegression(C=1e6).fit(X, y)
    assert model.fit(X, y).score(X, y) >= exact.score(X, y) - 0.01
    cosine = (
        (model.coef_ @ exact.coef_.T).item()
        / np.linalg.norm(model.coef_)
        / np.linalg.norm(exact.coef_)
    )
    assert cosine > 0.97


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix, sp.csr_array])
def test_every_sampling_learns_dense_and_sparse(sampling, container):
    model = SparseDPSGDClassifier(**GENEROUS, sampling=sampling, n_epochs=20)
    assert model.fit(container(X), y).score(container(X), y) > 0.7


@pytest.mark.parametrize("selector", SELECTORS)
def test_every_selector_learns(selector):
    model = SparseDPSGDClassifier(**GENEROUS, selector=selector, n_epochs=20)
    assert model.fit(SPARSE, y).score(SPARSE, y) > 0.62


def test_dense_and_sparse_rows_have_the_same_law():
    """The mean over many fits of the loop and of the lazily drawn noise."""
    kwargs = {"epsilon": 1.0, "delta": 1e-5, "classes": (0, 1), "n_epochs": 2, "batch_size": 100}
    fits = {
        name: np.array(
            [
                SparseDPSGDClassifier(**kwargs, random_state=seed).fit(data, y).coef_[0]
                for seed in range(60)
            ]
        )
        for name, data in (("dense", SPARSE.toarray()), ("sparse", SPARSE))
    }
    gap = fits["dense"].mean(axis=0) - fits["sparse"].mean(axis=0)
    error = np.sqrt(sum(f.var(axis=0, ddof=1) for f in fits.values()) / 60)
    assert np.abs(gap / error).max() < 6.5  # 20 t-statistics: below 1e-6 by chance
    ratio = fits["dense"].var(axis=0, ddof=1) / fits["sparse"].var(axis=0, ddof=1)
    assert 0.2 < ratio.min() <= ratio.max() < 5.0


def test_many_classes_at_once():
    digits, labels = load_digits(return_X_y=True)
    model = SparseDPSGDClassifier(epsilon=3.0, delta=1e-5, classes=range(10), random_state=0)
    model.fit(digits / 16, labels)
    assert model.coef_.shape == (10, 64)
    assert model.score(digits / 16, labels) > 0.7
    probabilities = model.predict_proba(digits / 16)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(
        model.classes_[probabilities.argmax(axis=1)], model.predict(digits / 16)
    )


def test_regression_finds_slopes_and_intercept():
    rows = rng.uniform(-1, 1, size=(5000, 3))
    labels = rows @ [1.0, -0.5, 0.0] + 0.2
    model = SparseDPSGDRegressor(epsilon=3.0, delta=1e-6, n_epochs=20, random_state=0)
    model.fit(rows, labels)
    np.testing.assert_allclose(model.coef_, [1.0, -0.5, 0.0], atol=0.15)
    assert model.intercept_ == pytest.approx(0.2, abs=0.1)
    assert model.coef_.shape == (3,)


class TestStatement:
    def test_names_the_event_that_ran(self):
        model = SparseDPSGDClassifier(epsilon=1.0, delta=1e-5, n_epochs=4, batch_size=100)
        model.fit(X, y)
        event = model.privacy_.event
        assert isinstance(event, dp_event.SelfComposedDpEvent)
        assert event.count == model.n_steps_ == 80
        assert event.event.sampling_probability == 100 / N
        assert 0.99 < epsilon_of(event, 1e-5) <= 1.0
        assert model.privacy_.neighbours is Neighbours.ZERO_OUT
        reference = dp_event.SelfComposedDpEvent(
            dp_event.PoissonSampledDpEvent(0.05, dp_event.GaussianDpEvent(model.noise_multiplier_)),
            80,
        )
        assert epsilon_of(reference, 1e-5) == pytest.approx(1.0, rel=2e-3)

    @pytest.mark.parametrize(
        ("sampling", "neighbours"),
        [
            ("poisson", "zero-out"),
            ("shuffled", "zero-out"),
            ("full", "zero-out"),
            ("fixed_size", "replace-one"),
            (PoissonSampler(0.05, 100.0, Neighbours.ADD_OR_REMOVE_ONE), "add-or-remove-one"),
            (PoissonSampler(0.05, 100.0, Neighbours.REPLACE_ONE), "replace-one"),
            (ShuffledBatches(100, N, Neighbours.REPLACE_ONE), "replace-one"),
        ],
    )
    def test_names_the_relation_of_the_sampler(self, sampling, neighbours):
        model = SparseDPSGDClassifier(sampling=sampling, n_epochs=1, delta=1e-5).fit(X, y)
        assert model.privacy_.neighbours.value == neighbours
        assert neighbours.split("-")[0] in " ".join(model.privacy_.assumptions) + neighbours
        assert model.privacy_.explain()
        assert model.privacy_.to_json()

    def test_the_number_of_rows_is_not_called_public_where_it_is_private(self):
        sampling = PoissonSampler(0.05, 100.0, Neighbours.ADD_OR_REMOVE_ONE)
        model = SparseDPSGDClassifier(sampling=sampling, n_epochs=1, delta=1e-5)
        facts = [model.fit(X[:n], y[:n]).privacy_.to_dict() for n in (N, N - 1)]
        assert facts[0] == facts[1]
        assert not any("number of rows is public" in fact for fact in facts[0]["assumptions"])

    def test_says_that_lazy_noise_is_rounded_continuous_noise(self):
        lazily = SparseDPSGDClassifier(n_epochs=1).fit(SPARSE, y).privacy_.assumptions
        at_once = SparseDPSGDClassifier(n_epochs=1).fit(X, y).privacy_.assumptions
        assert any("rounded once" in fact for fact in lazily)
        assert not any("rounded once" in fact for fact in at_once)


class TestBlocks:
    def test_take_turns_and_a_row_pays_for_its_own(self):
        blocks = np.array(["a", "b", "c", "d"])[np.arange(N) % 4]
        model = SparseDPSGDClassifier(**GENEROUS, n_epochs=30).fit(X, y, blocks=blocks)
        assert model.n_steps_ == 120
        assert model.privacy_.event.count == 30
        assert model.score(X, y) > 0.7

    @pytest.mark.parametrize(
        ("blocks", "match"),
        [(np.zeros(3), "one block for each"), (np.full(N, np.nan), "all integers or all strings")],
    )
    def test_that_are_none_are_refused(self, blocks, match):
        with pytest.raises((ValueError, TypeError), match=match):
            SparseDPSGDClassifier().fit(X, y, blocks=blocks)

    def test_and_batches_exclude_each_other(self):
        with pytest.raises(ValueError, match="blocks take turns whole"):
            SparseDPSGDClassifier(batch_size=10).fit(X, y, blocks=np.zeros(N, dtype=int))


class TestRefusals:
    """Before anything is spent."""

    def refused(self, match, error=ValueError, data=(X, y), **parameters):
        ledger = InMemoryLedger(100.0, 1e-2, Neighbours.ZERO_OUT)
        model = SparseDPSGDClassifier(ledger=ledger, **parameters)
        with pytest.raises(error, match=match):
            model.fit(*data)
        assert ledger.history() == ()
        assert not hasattr(model, "coef_")

    def test_of_a_batch_larger_than_the_table(self):
        self.refused("batch_size=2001 is larger than the number of rows, 2000", batch_size=2001)

    def test_of_more_coordinates_than_there_are(self):
        self.refused(
            "n_selected=22 is larger than the number of coefficients, 21",
            selector="gaussian", n_selected=22,
        )  # fmt: skip

    def test_of_delta_zero(self):
        self.refused("delta", delta=0.0)

    def test_of_a_step_that_turns_coefficients_around(self):
        self.refused("alpha times the learning rate", alpha=2.0, learning_rate=0.5)

    @pytest.mark.parametrize("selector", [s for s in SELECTORS if s not in ("gaussian",)])
    def test_of_fixed_size_batches_with_a_selection(self, selector):
        if selector == "adafest":  # two Gaussians are one
            return
        self.refused("no privacy theorem", sampling="fixed_size", selector=selector)

    @pytest.mark.parametrize("selector", SELECTORS)
    def test_of_replace_one_poisson_with_a_selection(self, selector):
        sampling = PoissonSampler(0.05, 100.0, Neighbours.REPLACE_ONE)
        self.refused(
            "no privacy theorem", sampling=sampling, selector=selector, selected_grad_norm=0.5
        )

    def test_of_a_sampler_for_another_table(self):
        self.refused("for 1000 records, got 2000", sampling=ShuffledBatches(10, 1000))

    @pytest.mark.parametrize(
        "idle",
        [
            {"n_selected": 5},
            {"selection_share": 0.5},
            {"selected_grad_norm": 0.5},
            {"n_selected": 5, "selector": GaussianSelector(3)},
            {"batch_size": 10, "sampling": "full"},
        ],
        ids=str,
    )
    def test_of_what_would_be_ignored(self, idle):
        self.refused("is set, but", **idle)

    def test_of_two_batch_sizes(self):
        self.refused("set one of them", sampling=ShuffledBatches(10, N), batch_size=10)

    def test_of_labels_that_were_not_declared(self):
        self.refused("outside of the declared classes", classes=[0, 2])

    def test_of_a_ledger_of_another_relation(self):
        ledger = InMemoryLedger(1.0, 1e-5)
        with pytest.raises(ValueError, match="zero-out"):
            SparseDPSGDClassifier(ledger=ledger).fit(X, y)

    def test_of_what_the_ledger_cannot_afford(self):
        ledger = InMemoryLedger(0.5, 1e-5, Neighbours.ZERO_OUT)
        with pytest.raises(BudgetExceededError):
            SparseDPSGDClassifier(ledger=ledger).fit(X, y)
        assert ledger.history() == ()


def test_a_delta_that_one_published_row_would_keep_warns():
    with pytest.warns(PrivacyLeakWarning, match=r"delta=0.001 is at least 1 / n_samples = 0.0005"):
        SparseDPSGDClassifier(delta=1e-3, n_epochs=1).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SparseDPSGDClassifier(delta=1e-5, n_epochs=1).fit(X, y)


def test_the_warning_about_delta_does_not_read_a_private_number_of_rows():
    sampling = PoissonSampler(0.05, 100.0, Neighbours.ADD_OR_REMOVE_ONE)
    model = SparseDPSGDClassifier(sampling=sampling, delta=4e-4, n_epochs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in (1000, N):
            model.fit(X[:n], y[:n])


def test_settings_that_were_used_are_public_facts():
    model = SparseDPSGDClassifier().fit(X, y)
    other = SparseDPSGDClassifier(classes=(0, 1)).fit(-7 * X, np.zeros(N, dtype=int))
    for name in ("noise_multiplier_", "n_steps_", "batch_size_", "learning_rate_"):
        assert getattr(model, name) == getattr(other, name)


def test_a_sparse_model_predicts_the_same():
    model = SparseDPSGDClassifier(selector="gaussian", n_selected=3, n_epochs=1).fit(SPARSE, y)
    dense = model.decision_function(SPARSE)
    assert sp.issparse(model.sparsify().coef_)
    np.testing.assert_allclose(model.decision_function(SPARSE), dense, rtol=1e-12)
    assert isinstance(model.densify().coef_, np.ndarray)


def test_regression_keeps_its_shapes():
    model = SparseDPSGDRegressor(n_epochs=1).fit(X, y.astype(float))
    predicted = model.predict(X)
    model.sparsify().densify()
    assert model.coef_.shape == (D,)
    assert model.to_sklearn().predict(X).shape == (N,)
    np.testing.assert_array_equal(model.sparsify().to_sklearn().predict(X), predicted)


def test_stored_zeros_are_not_there():
    stored = sp.csr_matrix(SPARSE)
    stored.data[::3] = 0.0
    dropped = stored.copy()
    dropped.eliminate_zeros()
    first, second = (
        SparseDPSGDClassifier(n_epochs=1, random_state=0).fit(rows, y).coef_
        for rows in (stored, dropped)
    )
    np.testing.assert_array_equal(first, second)
    assert (stored.data == 0).any()  # the caller's own


@pytest.mark.parametrize("scale", [0.05, 1.0, 50.0])
def test_a_clip_of_the_size_of_the_residuals_fits_labels_of_any_scale(scale):
    rows = rng.uniform(-1, 1, size=(3000, 4)) / 2
    labels = scale * (rows @ [4.0, -2.0, 0.0, 1.0])
    model = SparseDPSGDRegressor(
        epsilon=3.0, delta=1e-5, max_grad_norm=scale, huber_threshold=scale, random_state=0
    )
    assert model.fit(rows, labels).score(rows, labels) > 0.5


def test_huge_rows_of_either_storage_are_learnt():
    for rows, kind in ((1e300 * X, np.float64), (1e30 * X, np.float32)):
        for container in (np.asarray, sp.csr_matrix):
            data = container(rows.astype(kind))
            model = SparseDPSGDClassifier(**{**GENEROUS, "epsilon": 30.0}).fit(data, y)
            assert model.score(data, y) > 0.7


def test_the_plain_model_predicts_the_same():
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(D)])
    model = SparseDPSGDClassifier(n_epochs=1).fit(frame, y)
    plain = model.to_sklearn()
    np.testing.assert_array_equal(plain.predict(frame), model.predict(frame))
    np.testing.assert_allclose(plain.predict_proba(frame), model.predict_proba(frame))
    regression = SparseDPSGDRegressor(n_epochs=1).fit(X, y.astype(float))
    np.testing.assert_allclose(regression.to_sklearn().predict(X), regression.predict(X))


def test_float32_rows_stay_float32_and_change_little():
    kwargs = {"n_epochs": 1, "random_state": 0, "classes": (0, 1)}
    wide, narrow = (
        SparseDPSGDClassifier(**kwargs).fit(data, y).coef_ for data in (X, X.astype(np.float32))
    )
    np.testing.assert_allclose(narrow, wide, atol=1e-3)


def test_objects_for_strings():
    model = SparseDPSGDClassifier(
        selector=GaussianSelector(3), noise_schedule=ConstantNoise(), n_epochs=1,
        sampling=PoissonSampler.of_batch_size(50, N),
    )  # fmt: skip
    assert model.fit(SPARSE, y).n_steps_ == 40


def test_an_absent_class_and_constant_columns_are_no_news():
    model = SparseDPSGDClassifier(classes=(0, 1), n_epochs=1)
    for rows in (np.zeros((N, 3)), np.full((N, 3), 1e300), sp.csr_matrix((N, 3))):
        assert np.isfinite(model.fit(rows, np.zeros(N, dtype=int)).coef_).all()


def test_the_bar_shows_steps_epochs_and_epsilon_alone(capsys):
    SparseDPSGDClassifier(n_epochs=2, batch_size=100, verbose=1).fit(X, y)
    shown = capsys.readouterr().out
    assert "step 40 of 40" in shown
    assert "epoch 2.0, epsilon spent 1" in shown
