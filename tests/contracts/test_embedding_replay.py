"""Record and replay of word vectors and vocabularies, for every selector and unit.

Under zero-out a document becomes one without a word; an example becomes none in the same place.
"""

import itertools
from contextlib import contextmanager

import numpy as np
import pytest
from dp_accounting import dp_event

from skdp.embedding import PrivateCBOW, PrivateVocabulary
from skdp.embedding.document_counts import DocumentCounts
from skdp.embedding.gradients import CbowGradients
from skdp.embedding.row_selection import RowStep
from skdp.embedding.run import CbowRun
from skdp.embedding.words import Vocabulary
from skdp.privacy import Neighbours
from skdp.privacy.accounting import epsilon_of
from skdp.training import PoissonSampler, ShuffledBatches
from skdp.training.plan import _least_level as calibrations
from tests.support.replay import fit_trace, violations
from tests.support.word_vectors import WORDS, corpus, null_record

SELECTORS = {
    "none": {"selector": None},
    "gaussian": {"selector": "gaussian", "selection": "coordinates"},
    "gaussian, refined": {
        "selector": "gaussian",
        "selection": "coordinates",
        "selected_grad_norm": 0.4,
    },
    "exponential": {"selector": "exponential", "selection": "coordinates", "n_selected": 4},
    "noisy max": {"selector": "noisy_max", "selection": "coordinates", "n_selected": 4},
    "sparse vector": {"selector": "sparse_vector", "selection": "coordinates", "n_selected": 4},
    "adafest": {"selector": "adafest", "selection": "coordinates", "n_selected": 4},
    "rows, gaussian": {"selector": "gaussian", "n_selected": 3},
    "rows, exponential": {"selector": "exponential", "n_selected": 3, "selected_grad_norm": 0.4},
    "rows, sparse vector": {"selector": "sparse_vector", "n_selected": 3},
    "rows, adafest": {"selector": "adafest", "n_selected": 2},
}
OWN_WORD = "w11"
KINDS = ("random", "own word", "long", "one word only", "alone", "empty")
WORST = ("own word", "long")
N = 8


@pytest.fixture(autouse=True)
def _recorded_loop(monkeypatch):
    """Run fits through the loop; `tests/test_fused_word_vectors.py` has the compiled steps."""
    monkeypatch.setattr(CbowRun, "fused", False)


def documents_of(kind):
    documents = corpus((6, 3, 9, 12, 3, 5, 8, 7), seed=3)
    documents = [[word for word in words if word != OWN_WORD] for words in documents]
    if kind == "own word":
        documents[0] = [OWN_WORD, "w0"] * 6
    if kind == "long":
        documents[0] = list(WORDS) * 8
    if kind == "one word only":
        documents[0] = [OWN_WORD] * 10
    if kind == "alone":
        documents[1:] = [[] for _ in documents[1:]]
    if kind == "empty":
        documents[0] = []
    return documents


def pair(kind, other):
    documents = documents_of(kind)
    return documents, [other, *documents[1:]]


def make(**parameters):
    given = {
        "vector_size": 4,
        "window": 2,
        "negative": 3,
        "vocabulary": WORDS,
        "epsilon": 2.0,
        "delta": 1e-3,
        "n_epochs": 2,
        "max_grad_norm": 1.0,
        "init_scale": 1.0,
        "max_contributions": 20,
        "random_state": 5,
    }
    if not {"batch_size", "sampling"} & set(parameters):
        given["batch_size"] = 3
    return PrivateCBOW(**{**given, **parameters})


@pytest.mark.parametrize("sampling", ["poisson", "full"])
@pytest.mark.parametrize("selector", SELECTORS.values(), ids=SELECTORS)
def test_a_document_that_is_emptied_shows_in_nothing_but_the_releases(sampling, selector):
    for kind in KINDS:
        documents, without = pair(kind, [])
        size = {} if sampling == "full" else {"batch_size": 3}
        model = make(sampling=sampling, **size, **selector)
        assert violations(model, (documents,), (without,)) == [], kind


@pytest.mark.parametrize("selector", SELECTORS.values(), ids=SELECTORS)
def test_nor_does_one_that_is_replaced(selector):
    for kind in WORST:
        first, second = pair(kind, list(reversed(WORDS)) * 3)
        model = make(sampling=ShuffledBatches(3, N, Neighbours.REPLACE_ONE), **selector)
        assert violations(model, (first,), (second,)) == [], kind


@pytest.mark.parametrize("selector", SELECTORS.values(), ids=SELECTORS)
def test_nor_does_one_that_is_not_there_where_their_number_is_private(selector):
    """The first document goes, and with it the numbers of all others."""
    sampling = PoissonSampler(1.0, 3.0, Neighbours.ADD_OR_REMOVE_ONE)
    for kind in WORST:
        documents = documents_of(kind)
        model = make(sampling=sampling, **selector)
        assert violations(model, (documents,), (documents[1:],)) == [], kind


@pytest.mark.parametrize("selector", SELECTORS.values(), ids=SELECTORS)
def test_an_example_that_is_nulled_shows_in_nothing_but_the_releases(selector):
    for kind in WORST:
        documents = documents_of(kind)
        model = make(unit="example", batch_size=40, n_epochs=1, **selector)
        data = (documents,)
        assert violations(model, data, data, around_neighbour=null_record) == [], kind


@pytest.mark.parametrize(
    "parameters",
    [
        {"optimizer": "sgd", "learning_rate": 3.0},
        {"max_contributions": 1},
        {"max_grad_norm": 0.01},
        {"vocabulary": {word: float(i) for i, word in enumerate(WORDS)}},
        {"vocabulary": Vocabulary(WORDS[:5], (9.0, 3.0, 1.0, -2.0, 0.5), "Paid for.")},
    ],
    ids=str,
)
def test_other_options_show_nothing_either(parameters):
    for kind, selector in itertools.product(WORST, ("rows, adafest", "gaussian", "none")):
        documents, without = pair(kind, [])
        model = make(**{**SELECTORS[selector], **parameters})
        assert violations(model, (documents,), (without,)) == []


VOCABULARIES = {
    "spellings": {"n_words": 3},
    "candidates": {"n_words": 4, "candidates": WORDS},
    "stop words": {"n_words": 4, "candidates": WORDS, "stop_words": ["w0"]},
}


@pytest.mark.parametrize("parameters", VOCABULARIES.values(), ids=VOCABULARIES)
@pytest.mark.parametrize("relation", [n.value for n in Neighbours])
def test_a_document_shows_in_the_noisy_counts_alone(relation, parameters):
    for kind, most in itertools.product(WORST, (1, 3, 100)):
        first, second = pair(kind, ["aa", "bb", *reversed(WORDS)])
        if relation == "zero-out":
            second = [[], *first[1:]]
        if relation == "add-or-remove-one":
            second = first[1:]
        model = PrivateVocabulary(
            max_contributions=most, neighbours=relation, random_state=1, **parameters
        )
        first, second = (_spelt(documents, parameters) for documents in (first, second))
        with _listed_inputs():
            assert violations(model, (first,), (second,)) == [], (kind, most)


def _spelt(documents, parameters):
    """Documents in letters, where the domain is of spellings."""
    if "candidates" in parameters:
        return documents
    return [[word.translate(str.maketrans("0123456789", "abcdefghij")) for word in words]
            for words in documents]  # fmt: skip


@contextmanager
def _listed_inputs():
    """Compare sums over all spellings where they are not zero: there is no array of that size."""
    import skdp.audit.replay as module

    true = module._dense

    def few(value, *more):
        if getattr(value, "size", 0) < 10**6 or not hasattr(value, "indices"):
            return true(value, *more)
        seen = np.zeros(2**16)
        seen[value.indices % (2**16 + 1)] += value.values  # a prime: no two words share a place
        return seen

    module._dense = few
    try:
        yield
    finally:
        module._dense = true


class TestPlantedBugs:
    """What replay, and adding up what ran, must see."""

    def found(self, **parameters):
        documents, without = pair("own word", [])
        return violations(make(**parameters), (documents,), (without,))

    def test_without_a_bug_there_is_nothing(self):
        assert self.found() == self.found(selector=None) == []

    @pytest.mark.parametrize("name", ["clipped_sum", "row_map", "restricted_sum", "row_scores"])
    def test_a_norm_that_is_not_kept(self, name, monkeypatch):
        true = getattr(CbowGradients, name)

        def unclipped(self, *args, max_norm, grid):
            return true(self, *args, max_norm=100 * max_norm, grid=grid)

        monkeypatch.setattr(CbowGradients, name, unclipped)
        selector = {
            "clipped_sum": "none",
            "row_map": "rows, adafest",
            "row_scores": "rows, gaussian",
            "restricted_sum": "gaussian, refined",
        }[name]
        found = self.found(sampling="full", **SELECTORS[selector])
        assert any("an input moved by" in sentence for sentence in found)

    def test_examples_of_a_document_that_are_clipped_one_by_one(self, monkeypatch):
        """The bound of an example stated for a document."""
        monkeypatch.setattr(PrivateCBOW, "_records", _records_by_example)
        documents, without = pair("long", [])
        found = violations(make(selector=None, sampling="full"), (documents,), (without,))
        assert found

    def test_negatives_that_follow_the_words_of_the_documents(self, monkeypatch):
        import skdp.embedding.cbow as module

        true = module.CbowRecords

        def following(documents, window, n_negatives, law, **how):
            counts = np.bincount(documents.places, minlength=len(law.shares)) + 1.0
            seen = Vocabulary(tuple(WORDS), tuple(counts))
            return true(documents, window, n_negatives, type(law).of(seen, 1.0), **how)

        monkeypatch.setattr(module, "CbowRecords", following)
        found = self.found(selector=None, sampling="full")
        assert any("an input moved by" in sentence for sentence in found)

    def test_a_vocabulary_of_raw_counts(self, monkeypatch):
        """Without noise and without a charge: the words of the documents, as they are."""
        seen = []
        monkeypatch.setattr(PrivateCBOW, "_admitted_vocabulary", lambda self: Vocabulary.of(seen))
        documents, without = pair("own word", [])
        fit = PrivateCBOW.fit

        def peeking(self, X, y=None):
            seen[:] = sorted({word for words in X for word in words})[-10:]
            return fit(self, X)

        monkeypatch.setattr(PrivateCBOW, "fit", peeking)
        found = violations(make(selector=None), (documents,), (without,))
        assert "attribute index_to_key_ changed" in found

    def test_a_private_vocabulary_without_noise(self, monkeypatch):
        from skdp.mechanisms import GaussianTopK
        from skdp.mechanisms.statistics import Selection

        def exact(self, value, rng):
            order = np.argsort(-value.values)[: self.n_selected]
            return Selection.sorted(value.indices[order], value.values[order])

        # Past the recorder, as a release that never reaches a mechanism.
        monkeypatch.setattr(GaussianTopK, "release", exact)
        documents, without = pair("own word", [])
        model = PrivateVocabulary(11, candidates=WORDS)
        assert "attribute vocabulary_ changed" in violations(model, (documents,), (without,))

    def test_votes_without_a_bound(self, monkeypatch):
        true = DocumentCounts._votes

        def all_of_them(self, words, key):
            unbounded = DocumentCounts(self.domain, self.stop_words, 10**6)
            return true(unbounded, words, key)

        monkeypatch.setattr(DocumentCounts, "_votes", all_of_them)
        documents, without = pair("long", [])
        model = PrivateVocabulary(4, candidates=WORDS, max_contributions=3)
        (sentence,) = violations(model, (documents,), (without,))
        assert "an input moved by 2.000 x its bound" in sentence

    def test_a_number_of_examples_that_sets_the_batch(self, monkeypatch):
        """How many examples there are is private where documents are the unit."""
        true = PrivateCBOW._admitted_size

        def by_examples(self, records):
            return max(3, true(self, records), int(records.firsts[-1]) // 10)

        monkeypatch.setattr(PrivateCBOW, "_admitted_size", by_examples)
        documents, without = pair("long", [])
        assert violations(make(selector=None), (documents,), (without,))

    @pytest.mark.parametrize("selector", ["rows, gaussian", "rows, adafest"])
    def test_a_selection_that_is_not_charged(self, selector, monkeypatch):
        model = make(sampling="full", **SELECTORS[selector])
        assert self.cost_of_what_ran(model) <= 2.0
        monkeypatch.setattr(RowStep, "event", property(lambda self: self.noise.event))
        calibrations.cache_clear()
        try:
            assert self.cost_of_what_ran(model) > 2.5
        finally:
            calibrations.cache_clear()

    def cost_of_what_ran(self, model):
        """Add up every mechanism of a fit whose steps see all documents."""
        trace = fit_trace(model, (documents_of("own word"),))
        assert trace.error is None
        together = dp_event.ComposedDpEvent([mechanism.event for mechanism in trace.mechanisms])
        return epsilon_of(together, model.delta)


def test_what_ran_costs_what_was_stated_for_every_selector():
    for name, selector in SELECTORS.items():
        model = make(sampling="full", **selector)
        assert TestPlantedBugs().cost_of_what_ran(model) <= 2.0 * (1 + 1e-6), name


def _records_by_example(self, X, vocabulary, by_document, every=False):
    from tests.support.word_vectors import records_of

    return records_of(X, by_document=False, words=tuple(vocabulary.words))
