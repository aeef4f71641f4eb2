"""Out-of-core training: what all calls of partial_fit promise together."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from dp_accounting import dp_event
from sklearn.base import clone
from sklearn.datasets import make_classification

from skdp.exceptions import BudgetExceededError
from skdp.linear_model import SparseDPSGDClassifier, SparseDPSGDRegressor
from skdp.privacy import InMemoryLedger, Neighbours
from skdp.privacy.accounting import epsilon_of
from skdp.training import PoissonSampler

CHUNK = 500
X, y = make_classification(4 * CHUNK, 12, n_informative=6, random_state=1)
X /= np.linalg.norm(X, axis=1, keepdims=True)
CHUNKS = [(X[i : i + CHUNK], y[i : i + CHUNK]) for i in range(0, len(X), CHUNK)]
CLASSES = [0, 1]


def make(**parameters):
    given = {"epsilon": 1.0, "delta": 1e-4, "n_epochs": 2, "batch_size": 50, "classes": CLASSES}
    return SparseDPSGDClassifier(**{**given, **parameters})


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_a_stream_of_disjoint_chunks_is_learnt(container):
    model = make(epsilon=100.0, n_epochs=10, random_state=0)
    scores = []
    for rows, labels in CHUNKS * 2:
        scores.append(model.partial_fit(container(rows), labels).score(X, y))
        assert model.privacy_.epsilon == 100.0
    assert scores[-1] > 0.75


def test_disjoint_chunks_use_the_whole_budget_each():
    model = make()
    whole = make().fit(*CHUNKS[0])
    for chunk in CHUNKS:
        model.partial_fit(*chunk)
        assert model.noise_multiplier_ == whole.noise_multiplier_
        assert model.privacy_.event == whole.privacy_.event
        assert any("No record is in two chunks" in a for a in model.privacy_.assumptions)


def test_chunks_of_other_sizes_cost_the_same():
    model = make().partial_fit(*CHUNKS[0])
    event = model.privacy_.event
    model.partial_fit(X[:123], y[:123])
    assert model.privacy_.event == event
    assert model.batch_size_ == pytest.approx(12.3)


def test_runs_over_the_same_records_compose():
    model = make(chunks="same", n_partial_fits=3)
    once = make().fit(*CHUNKS[0])
    for _ in range(3):
        model.partial_fit(*CHUNKS[0])
        event = model.privacy_.event
        assert isinstance(event, dp_event.SelfComposedDpEvent)
        assert event.count == 3
        assert 0.99 < epsilon_of(event, 1e-4) <= 1.0
    assert model.noise_multiplier_ > 1.2 * once.noise_multiplier_


def test_the_call_after_the_last_is_refused_before_the_chunk_is_read():
    model = make(chunks="same", n_partial_fits=2)
    for _ in range(2):
        model.partial_fit(*CHUNKS[0])
    before = model.coef_.copy()
    with pytest.raises(BudgetExceededError, match="n_partial_fits=2"):
        model.partial_fit("not even rows", None)
    np.testing.assert_array_equal(model.coef_, before)


def test_the_count_survives_pickling_and_does_not_survive_cloning():
    model = make(chunks="same").partial_fit(*CHUNKS[0])
    with pytest.raises(BudgetExceededError):
        pickle.loads(pickle.dumps(model)).partial_fit(*CHUNKS[0])
    clone(model).partial_fit(*CHUNKS[0])


@pytest.mark.parametrize("change", [{"epsilon": 2.0}, {"n_partial_fits": 3}, {"alpha": 0.1}])
def test_parameters_cannot_change_between_calls(change):
    model = make(chunks="same", n_partial_fits=2).partial_fit(*CHUNKS[0])
    with pytest.raises(ValueError, match="Parameters were changed"):
        model.set_params(**change).partial_fit(*CHUNKS[0])


def test_a_private_number_of_rows_stays_so():
    sampling = PoissonSampler(0.1, 50.0, Neighbours.ADD_OR_REMOVE_ONE)
    model = make(batch_size="auto", sampling=sampling, chunks="same", n_partial_fits=2)
    for n in (500, 499):
        model.partial_fit(X[:n], y[:n])


def test_same_chunks_have_the_same_size():
    model = make(chunks="same", n_partial_fits=2).partial_fit(*CHUNKS[0])
    with pytest.raises(ValueError, match="for 500 records, got 499"):
        model.partial_fit(X[:499], y[:499])


class TestLedger:
    def spent(self, **parameters):
        ledger = InMemoryLedger(10.0, 1e-2, Neighbours.ZERO_OUT)
        return ledger, make(ledger=ledger, **parameters)

    def test_charges_one_plan_for_disjoint_chunks_and_enters_the_others(self):
        ledger, model = self.spent()
        for chunk in CHUNKS:
            model.partial_fit(*chunk)
        assert ledger.spent() == (1.0, 1e-4)
        assert len(ledger.history()) == 4
        assert [entry.charged.epsilon for entry in ledger.history()] == [1.0, 0.0, 0.0, 0.0]
        assert "No record is in two chunks" in ledger.history()[-1].covered_by

    def test_charges_all_runs_over_the_same_records_at_the_first(self):
        ledger, model = self.spent(chunks="same", n_partial_fits=2)
        for _ in range(2):
            model.partial_fit(*CHUNKS[0])
        assert ledger.spent() == (1.0, 1e-4)

    def test_forgets_nothing_when_the_model_does(self):
        ledger, model = self.spent()
        model.partial_fit(*CHUNKS[0]).fit(*CHUNKS[0]).partial_fit(*CHUNKS[0])
        assert ledger.spent() == (3.0, 3e-4)

    def test_of_a_later_call_is_charged_if_it_has_not_been(self):
        _first, model = self.spent()
        model.partial_fit(*CHUNKS[0])
        second = InMemoryLedger(10.0, 1e-2, Neighbours.ZERO_OUT)
        model.set_params(ledger=second).partial_fit(*CHUNKS[1])
        assert second.spent() == (1.0, 1e-4)

    def test_is_left_out_of_what_is_saved(self):
        _, model = self.spent()
        model.partial_fit(*CHUNKS[0]).set_params(ledger=None)
        assert pickle.loads(pickle.dumps(model)).coef_.shape == (1, 12)


def test_fit_does_not_pay_for_calls_that_never_come():
    shared = make(chunks="same", n_partial_fits=3).fit(*CHUNKS[0])
    assert shared.noise_multiplier_ == make().fit(*CHUNKS[0]).noise_multiplier_


def test_disjoint_chunks_need_no_number_of_calls():
    with pytest.raises(ValueError, match="n_partial_fits=3 is for chunks='same'"):
        make(n_partial_fits=3).partial_fit(*CHUNKS[0])


def test_the_last_chunk_of_a_stream_may_be_one_row():
    model = make().partial_fit(*CHUNKS[0])
    assert np.isfinite(model.partial_fit(X[:1], y[:1]).coef_).all()


def test_fit_forgets_earlier_calls():
    model = make(chunks="same").partial_fit(*CHUNKS[0])
    model.fit(*CHUNKS[1])
    assert model.privacy_.epsilon == 1.0
    model.partial_fit(*CHUNKS[0])  # a first call once more


def test_a_seed_does_not_draw_the_same_noise_in_each_call():
    """Noise of the second call is not that of the first: steps on null rows differ."""
    rows, labels = np.zeros((CHUNK, 3)), np.zeros(CHUNK, dtype=int)
    model = make(random_state=3, fit_intercept=False)
    first = model.partial_fit(rows, labels).coef_.copy()
    second = model.partial_fit(rows, labels).coef_ - first
    assert np.abs(second - first).max() > 1e-6


class TestRefusals:
    def test_of_a_first_chunk_without_classes(self):
        with pytest.raises(ValueError, match="classes must be passed on the first call"):
            make(classes=None).partial_fit(*CHUNKS[0])
        make(classes=None).partial_fit(*CHUNKS[0], classes=CLASSES)

    def test_of_other_classes_later(self):
        model = make(classes=None).partial_fit(*CHUNKS[0], classes=CLASSES)
        with pytest.raises(ValueError, match="first call of partial_fit"):
            model.partial_fit(*CHUNKS[1], classes=[0, 1, 2])

    def test_of_unknown_labels(self):
        model = make().partial_fit(*CHUNKS[0])
        before = model.coef_.copy()
        with pytest.raises(ValueError, match="outside of the declared classes"):
            model.partial_fit(X[:CHUNK], y[:CHUNK] + 1)
        np.testing.assert_array_equal(model.coef_, before)

    def test_of_other_columns(self):
        model = make().partial_fit(*CHUNKS[0])
        with pytest.raises(ValueError, match="features"):
            model.partial_fit(X[:CHUNK, :5], y[:CHUNK])

    def test_of_fixed_size_batches_on_another_number_of_rows(self):
        model = make(sampling="fixed_size").partial_fit(*CHUNKS[0])
        model.partial_fit(*CHUNKS[1])
        with pytest.raises(ValueError, match="give chunks of 500 rows"):
            model.partial_fit(X[:400], y[:400])


def test_regression_in_chunks():
    slopes = np.linspace(-1, 1, 12)
    model = SparseDPSGDRegressor(epsilon=100.0, delta=1e-4, n_epochs=20, random_state=0)
    for rows, _ in CHUNKS:
        model.partial_fit(rows, rows @ slopes)
    assert model.score(X, X @ slopes) > 0.7
