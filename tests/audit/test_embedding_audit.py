"""Attacks on word vectors: is the document there that has a word which nobody else uses?

The attacker sees every released step, as the guarantee allows, and knows all documents but that
one, whose own clipped gradient is what is looked for in each release. Thresholds come from a pilot
run with seeds of its own.
"""

from dataclasses import replace

import numpy as np
import pytest

from skdp._random import RandomSource
from skdp.embedding import PrivateVocabulary, WholeRows
from skdp.embedding.document_counts import DocumentCounts
from skdp.mechanisms.statistics import Selection
from skdp.privacy import PrivacyBudget
from skdp.training import (
    AllCoordinates,
    ConstantNoise,
    ExponentialSelector,
    FullBatch,
    GaussianSelector,
    PoissonSampler,
    SparseVectorSelector,
    SurvivorSelector,
    TrainingPlan,
    dpsgd,
)
from tests.support.attack import ERROR_RATE, accuses
from tests.support.lower_bound import Counts
from tests.support.word_vectors import SIZE, WORDS, gradients_of, records_of

N, STEPS = 4, 2
EPSILON, DELTA, CLIP = 1.0, 0.2, 1.0
OWN_WORD = "w11"
OTHERS = [["w0", "w1", "w2"], ["w3", "w4"], ["w5", "w6"]]
#: The words of the document are its own, so that others touch them as negatives at most.
DOCUMENT = [OWN_WORD, "w10"] * 6
SAMPLERS = {"full": FullBatch(N), "poisson": PoissonSampler.of_batch_size(2, N)}
SELECTORS = {
    "none": AllCoordinates(),
    "gaussian": GaussianSelector(4),
    "exponential": ExponentialSelector(4),
    "rows, gaussian": WholeRows(GaussianSelector(2, share=0.5), SIZE),
    "rows, exponential": WholeRows(ExponentialSelector(2), SIZE),
    "rows, sparse vector": WholeRows(SparseVectorSelector(2), SIZE),
    "rows, adafest": WholeRows(SurvivorSelector(2), SIZE),
}


pytestmark = pytest.mark.slow
SOME = pytest.mark.parametrize("selector", ["none", "rows, gaussian", "rows, adafest"])
#: For power, with fixed seeds, where nothing is accused.
LAX = 0.2


class Watcher:
    """An attacker in the place of the optimiser: looks for one gradient, moves nothing."""

    scale = 1.0

    def __init__(self, values, sought, known):
        self.values, self._sought, self._known, self._seen = values, sought, known, []

    def apply(self, total):
        if isinstance(total, Selection):
            where = total.indices
            seen = (total.values - self._known[where]) @ self._sought[where]
            self._seen.append(seen + 0.5 * (self._sought[where] ** 2).sum())
        else:
            self._seen.append((total - self._known) @ self._sought)

    def result(self):
        return np.array(self._seen)


def watched(plan, present, runs, seed):
    """Statistics of runs, each the sum over its steps of what looks like the document."""
    values = np.random.default_rng(0).normal(size=len(WORDS) * SIZE)
    gradients = gradients_of(records_of([DOCUMENT if present else [], *OTHERS]))
    where = {"max_norm": CLIP, "grid": 2.0**-20}
    own, known = (
        gradients_of(records_of(documents)).clipped_sum(
            values, 1.0, np.arange(len(documents)), **where
        )
        for documents in ([DOCUMENT], [[], *OTHERS])
    )
    rate = plan.sampler.divisor / N
    watcher = Watcher(values, own.toarray(), rate * known.toarray())
    long = replace(plan, n_steps=runs * plan.n_steps)
    seen = dpsgd(long, gradients, watcher, RandomSource.from_seed(seed))
    return seen.reshape(runs, plan.n_steps).sum(axis=1)


def planned(selector, sampler, epsilon=EPSILON):
    size = len(WORDS) * SIZE
    plan = TrainingPlan(sampler, selector, ConstantNoise(), CLIP, n_steps=STEPS, size=size)
    return plan.calibrated(PrivacyBudget(epsilon, DELTA))


def audit(plan, runs):
    """Count the event that the statistic reaches a threshold, planned on other runs."""
    pilot = max(200, runs // 10)
    there, gone = (watched(plan, present, pilot, 10 + present) for present in (True, False))
    candidates = np.quantile(np.concatenate([there, gone]), np.linspace(0.05, 0.95, 40))

    def gain(threshold):
        return (there >= threshold).mean() - np.exp(EPSILON) * (gone >= threshold).mean()

    threshold = max(candidates, key=gain)
    hits, misses = (
        int((watched(plan, present, runs, 20 + present) >= threshold).sum())
        for present in (True, False)
    )
    return Counts(hits, runs, misses, runs, ERROR_RATE)


@pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)
@pytest.mark.parametrize("selector", SELECTORS.values(), ids=SELECTORS)
def test_a_word_that_nobody_else_uses_shows_no_more_than_was_promised(selector, sampler):
    counts = audit(planned(selector, sampler), 1500)
    assert not accuses(counts, EPSILON, DELTA)


@SOME
def test_the_attack_sees_what_there_is(selector):
    """Without sampling the bound is tight for noise alone: delta 0.2 at epsilon 1."""
    counts = replace(audit(planned(SELECTORS[selector], SAMPLERS["full"]), 2000), error_rate=LAX)
    assert counts.epsilon() > 0.5
    if selector == "none":
        assert counts.delta(EPSILON) > 0.1


@SOME
def test_a_quarter_of_the_noise_is_seen(selector):
    plan = planned(SELECTORS[selector], SAMPLERS["full"])
    loud = replace(plan, noise=plan.noise.at_level(plan.noise.level / 4))
    assert accuses(audit(loud, 1500), EPSILON, DELTA)


class TestVocabulary:
    """One document more that votes for a word of its own, among two candidates: counts are seen."""

    def counts(self, runs=2000, votes=None):
        model = PrivateVocabulary(
            2, candidates=[OWN_WORD, "w0"], max_contributions=1, epsilon=EPSILON, delta=DELTA
        )
        mechanism = model._mechanism(model._document_counts())
        exact = model._document_counts().of([[OWN_WORD]], np.uint64(0)).toarray()
        exact = exact * (1 if votes is None else votes)
        seen = [
            self.released(mechanism, value, runs, seed)
            for seed, value in enumerate((exact, 0 * exact))
        ]
        threshold = exact[0] / 2 + mechanism.noise_std**2 * EPSILON / exact[0]
        hits, misses = (int((values >= threshold).sum()) for values in seen)
        return Counts(hits, runs, misses, runs, ERROR_RATE)

    def released(self, mechanism, value, runs, seed):
        rng = RandomSource.from_seed(seed)
        return np.array([mechanism.release(value, rng).values[0] for _ in range(runs)])

    def test_a_vote_shows_no_more_than_was_promised_and_not_much_less(self):
        counts = self.counts()
        assert not accuses(counts, EPSILON, DELTA)
        assert replace(counts, error_rate=LAX).delta(EPSILON) > 0.15

    def test_three_votes_for_one_are_seen(self):
        assert accuses(self.counts(votes=3), EPSILON, DELTA)

    def test_the_votes_that_are_bounded_are_those_that_are_counted(self):
        counts = DocumentCounts(PrivateVocabulary()._document_counts().domain, frozenset(), 2)
        assert counts.of([["one", "two", "three", "four"]], np.uint64(1)).values.tolist() == [1, 1]
