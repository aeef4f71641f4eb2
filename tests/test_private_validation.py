"""Accuracy on private validation records: noise, price, replay and attack."""

import math
import pickle

import numpy as np
import pytest

from skdp._random import RandomSource
from skdp.mechanisms import GridGaussianMechanism
from skdp.neural_network import PrivateMLPClassifier, PrivateMLPRegressor
from skdp.privacy import Neighbours
from skdp.privacy.accounting import EventCurve, epsilon_of
from skdp.privacy.filters import GaussianFilter, RenyiFilter
from skdp.training import PoissonSampler, ShuffledBatches, ValidationDecay
from skdp.training.private_scores import PrivateScores
from tests.support.attack import ERROR_RATE, accuses
from tests.support.lower_bound import Counts
from tests.support.replay import violations

EPSILON = 1.0
ZERO_OUT = Neighbours.ZERO_OUT
TOTALS = [GaussianFilter(ZERO_OUT, 1e-15, 0.7), RenyiFilter(ZERO_OUT, 1e-15, 12, 0.4)]
TOTAL_NAMES = ["gaussian", "renyi"]
RNG = np.random.default_rng(3)
X = RNG.normal(size=(300, 4))
Y = (X[:, 0] > 0).astype(int)
PRIVATE = ValidationDecay(period=2, window=1, factor=0.7, private=True)


class WithValidation(PrivateMLPClassifier):
    """Takes validation records as data, so that a neighbour may differ in one of them."""

    def fit(self, X, y, X_val, y_val):
        return super().fit(X, y, X_val=X_val, y_val=y_val)


def make(kind=PrivateMLPClassifier, **parameters):
    given = {
        "hidden_layer_sizes": (3,), "epsilon": 2.0, "delta": 1e-5, "n_epochs": 6, "batch_size": 60,
        "classes": (0, 1), "noise_schedule": PRIVATE, "random_state": 4,
    }  # fmt: skip
    return kind(**{**given, **parameters})


# ------------------------------------------------------------------------------------------- price


@pytest.mark.parametrize("total", TOTALS, ids=TOTAL_NAMES)
@pytest.mark.parametrize("n_releases", [1, 7, 100])
def test_all_releases_use_the_total_up_and_do_not_exceed_it(total, n_releases):
    event = PrivateScores.within(total, 50, n_releases).mechanism.event
    counted = total.start()
    assert all(counted.admits(event) for _ in range(n_releases))
    assert n_releases * total.cost(event) == pytest.approx(total.limit, rel=1e-9)
    assert not counted.admits(event)


def test_the_noise_is_that_of_the_closed_form():
    planned = PrivateScores.within(TOTALS[0], 50, 25)
    assert planned.standard_deviation == pytest.approx(5 / 0.7 / 50, rel=1e-5)
    of_order = PrivateScores.within(TOTALS[1], 50, 1)
    # order * mu^2 / 2 = divergence
    assert of_order.mechanism.noise_std**-2.0 * 12 / 2 == pytest.approx(0.4, rel=1e-5)


def test_scores_are_hits_with_that_noise():
    planned = PrivateScores.within(TOTALS[0], 50, 4)
    score = planned.of(lambda parameters: int(parameters[0]), RandomSource.from_seed(0))
    drawn = np.array([score(np.array([30.0])) for _ in range(4000)])
    assert abs(drawn.mean() - 0.6) < 6 * planned.standard_deviation / math.sqrt(4000)
    assert abs(drawn.std() / planned.standard_deviation - 1) < 6 / math.sqrt(2 * 4000)


def test_a_private_number_of_records_is_refused():
    total = GaussianFilter(Neighbours.ADD_OR_REMOVE_ONE, 1e-15, 0.7)
    with pytest.raises(ValueError, match="number of records is public"):
        PrivateScores.within(total, 50, 4)


def test_a_delta_that_precision_uses_up_is_refused():
    with pytest.raises(ValueError, match="finite precision"):
        PrivateScores.within(GaussianFilter(ZERO_OUT, 0.0, 0.7), 50, 4)


# ----------------------------------------------------------------------------------------- network


@pytest.mark.parametrize(
    "sampling",
    ["poisson", "shuffled", "full", ShuffledBatches(60, 200, Neighbours.REPLACE_ONE),
     PoissonSampler(0.3, 60.0, Neighbours.REPLACE_ONE)],
    ids=["poisson", "shuffled", "full", "shuffled, replace-one", "poisson, replace-one"],
)  # fmt: skip
@pytest.mark.parametrize("other", [0, 1], ids=["label", "row"])
def test_a_validation_record_shows_in_nothing_but_the_releases(sampling, other):
    train, held_out = (X[:200], Y[:200]), (X[200:], Y[200:])
    X_val, y_val = held_out[0].copy(), held_out[1].copy()
    if other:
        X_val[3] = [1e200, -1e308, 1e308, 5.0]
    y_val[3] = 1 - y_val[3]
    size = {} if isinstance(sampling, str) and sampling != "full" else {"batch_size": "auto"}
    model = make(WithValidation, sampling=sampling, **size)
    assert violations(model, (*train, *held_out), (*train, X_val, y_val)) == []


def test_accuracies_without_noise_are_seen_by_the_replay(monkeypatch):
    exact = lambda self, hits, rng: lambda parameters: hits(parameters) / self.n_records  # noqa: E731
    monkeypatch.setattr(PrivateScores, "of", exact)
    train, (X_val, y_val) = (X[:200], Y[:200]), (X[200:], Y[200:])
    changed = y_val.copy()
    changed[3] = 1 - changed[3]
    found = violations(make(WithValidation), (*train, X_val, y_val), (*train, X_val, changed))
    assert "attribute validation_scores_ changed" in found


def test_two_hits_a_record_are_seen_by_the_replay(monkeypatch):
    def twice(self, hits, rng):
        return lambda parameters: float(self.mechanism.release([2.0 * hits(parameters)], rng)[0])

    monkeypatch.setattr(PrivateScores, "of", twice)
    train, (X_val, y_val) = (X[:200], Y[:200]), (X[200:], Y[200:])
    changed = y_val.copy()
    changed[3] = 1 - changed[3]
    found = violations(make(WithValidation), (*train, X_val, y_val), (*train, X_val, changed))
    assert any("x its bound" in fact for fact in found)


HELD_OUT = {"X_val": X[200:], "y_val": Y[200:]}


def test_the_statement_names_the_assumption_and_keeps_the_budget():
    model = make().fit(X[:200], Y[:200], **HELD_OUT)
    assert epsilon_of(model.privacy_.event, 1e-5) <= 2.0
    assert any("share no record" in fact for fact in model.privacy_.assumptions)
    assert len(model.validation_scores_) == len(model.noise_multipliers_)


@pytest.mark.parametrize("rows", [X[200:], X[200:].tolist()], ids=["array", "list"])
def test_nothing_that_is_kept_or_shown_of_a_model_holds_a_validation_record(rows):
    model = make().fit(X[:200], Y[:200], X_val=rows, y_val=Y[200:])
    mark = X[203, 1]
    assert mark.tobytes() not in pickle.dumps(model)
    assert not any(str(mark) in shown for shown in (repr(model), model._repr_html_()))
    assert not any(name.startswith("_held") for name in vars(model))
    refused = make()
    with pytest.raises(ValueError, match="contains NaN"):
        refused.fit(X[:200], Y[:200], X_val=np.full((5, 4), np.nan), y_val=Y[:5])
    assert vars(refused) == vars(make())


@pytest.mark.parametrize(
    ("change", "call", "told"),
    [
        ({}, {}, "needs validation rows"),
        ({}, {"X_val": X}, "belong together"),
        ({"validation_data": (X, Y)}, HELD_OUT, "stays in the fitted model"),
        ({"noise_schedule": None}, HELD_OUT, "only ValidationDecay"),
        ({"noise_schedule": ValidationDecay(X, Y)}, HELD_OUT, "only ValidationDecay"),
    ],
    ids=["none", "half", "kept", "no schedule", "public schedule"],
)
def test_rows_that_would_be_kept_or_not_used_are_refused(change, call, told):
    with pytest.raises(ValueError, match=told):
        make(**change).fit(X[:200], Y[:200], **call)


def test_a_schedule_takes_no_private_rows_nor_does_partial_fit():
    with pytest.raises(ValueError, match="pass private ones to the fit"):
        ValidationDecay(X, Y, private=True)
    with pytest.raises(ValueError, match="takes no private validation records"):
        make(batch_size="auto").partial_fit(X[:200], Y[:200])


def test_a_regressor_refuses_before_anything_is_read():
    model = PrivateMLPRegressor(noise_schedule=PRIVATE)
    with pytest.raises(ValueError, match="needs a classifier"):
        model.fit(X, X[:, 0])


# ------------------------------------------------------------------------------------------ attack


def counts_of(planned, n_releases, draws=3000):
    """Tell one more hit by the sum of all scores: the likelihood ratio of equal Gaussians."""

    def sums(hits, seed):
        score = planned.of(lambda _: hits, RandomSource.from_seed(seed))
        found = [score(np.zeros(1)) for _ in range(draws * n_releases)]
        return np.reshape(found, (draws, n_releases)).sum(axis=1)

    there, gone = sums(31, 1), sums(30, 2)
    # where the log-likelihood ratio of the sum is epsilon
    at_ratio = EPSILON * planned.mechanism.noise_std**2
    threshold = (n_releases * 30.5 + at_ratio) / planned.n_records
    return Counts(
        int((there >= threshold).sum()), draws, int((gone >= threshold).sum()), draws, ERROR_RATE
    )


def claim_of(total):
    return EPSILON, EventCurve(total.event).delta_at(EPSILON)


def test_the_sum_of_all_scores_tells_no_more_than_is_claimed_and_comes_near():
    total = GaussianFilter(ZERO_OUT, 1e-15, 1.5)
    epsilon, delta = claim_of(total)
    counts = counts_of(PrivateScores.within(total, 50, 2), 2)
    assert not accuses(counts, epsilon, delta)
    assert counts.delta(epsilon) > 0.5 * delta


def test_the_price_of_one_release_for_all_is_accused():
    total = GaussianFilter(ZERO_OUT, 1e-15, 1.5)
    counts = counts_of(PrivateScores.within(total, 50, 1), 2)
    assert accuses(counts, *claim_of(total))


def test_the_mechanism_is_the_one_that_is_audited():
    assert isinstance(PrivateScores.within(TOTALS[0], 50, 4).mechanism, GridGaussianMechanism)
