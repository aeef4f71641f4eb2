"""PrivateVocabulary: domains, votes, noise, and what becomes of noisy counts."""

import math
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import kstest
from sklearn.base import clone

from skdp.embedding import PrivateCBOW, PrivateVocabulary, Vocabulary
from skdp.embedding.document_counts import DocumentCounts
from skdp.embedding.word_domains import ListedWords, Spellings
from skdp.exceptions import PrivacyLeakWarning
from skdp.privacy import InMemoryLedger, Neighbours
from skdp.privacy.gaussian_curve import gaussian_delta

LETTERS = "abcdefghijklmnopqrstuvwxyz"
KEY = np.uint64(5)


def seeded(model, documents, seed=0):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        return clone(model).set_params(random_state=seed).fit(documents)


class TestDomains:
    @pytest.mark.parametrize(
        ("alphabet", "longest"), [(LETTERS, 13), ("ab", 61), (LETTERS + "äöüß", 12)]
    )
    def test_spellings_are_numbered_without_gaps_below_2_to_the_62(self, alphabet, longest):
        domain = Spellings(alphabet)
        assert domain.longest == longest
        assert domain.size <= 2**62 < domain.size + len(alphabet) ** (longest + 1)
        for place in (0, 1, len(alphabet) - 1, len(alphabet), 12345, domain.size - 1):
            assert domain.place(domain.word(place)) == place
        words = [domain.word(place) for place in range(500)]
        assert len(set(words)) == 500
        assert [domain.place(word) for word in words] == list(range(500))
        assert domain.word(domain.size - 1) == alphabet[-1] * longest

    def test_what_cannot_be_spelt_is_outside(self):
        domain = Spellings(LETTERS)
        assert [domain.place(w) for w in ("", "naïve", "a b", "A", "3", "a" * 14)] == [-1] * 6
        assert ListedWords(("cat", "dog")).place("cow") == -1
        for alphabet in ("", "a", "aba"):
            with pytest.raises(ValueError, match="alphabet"):
                Spellings(alphabet)


class TestVotes:
    def counts(self, most=3, **how):
        domain = ListedWords(("a", "b", "c", "d", "e", "f"))
        return DocumentCounts(domain, frozenset(how.get("stop", ())), most)

    def test_no_sensitivity_is_rounded_down(self):
        for most in range(1, 200):
            counts = self.counts(most)
            for relation, votes in ((Neighbours.ZERO_OUT, 1), (Neighbours.REPLACE_ONE, 2)):
                assert Fraction(counts.sensitivity(relation).value) ** 2 >= votes * most

    def test_documents_are_counted_not_words(self):
        found = self.counts().of([["a", "a", "b"], ["a", "x"], []], KEY)
        assert found.toarray().tolist() == [2, 1, 0, 0, 0, 0]

    def test_stop_words_have_no_vote_and_take_no_place(self):
        found = self.counts(2, stop={"a", "b"}).of([list("abcd")] * 5, KEY)
        assert found.toarray().tolist() == [0, 0, 5, 5, 0, 0]

    def test_no_document_has_more_votes_than_it_may_and_each_word_the_same_chance(self):
        counts = self.counts(2)
        one_by_one = [counts._votes(list("fedcba"), np.uint64(key)) for key in range(2000)]
        assert {len(set(votes)) for votes in one_by_one} == {2}
        total = np.bincount(np.ravel(one_by_one))
        assert abs(total - 2000 / 3).max() < 5 * math.sqrt(2000 * 2 / 9)

    def test_documents_of_other_words_vote_for_others(self):
        counts = DocumentCounts(Spellings(LETTERS), frozenset(), 5)
        shared = [f"{letter}word" for letter in LETTERS]
        votes = [set(counts._votes([*shared, f"own{letter}"], KEY)) for letter in LETTERS]
        assert len(set().union(*votes)) > 20

    def test_a_vote_depends_on_the_document_alone(self):
        counts, documents = self.counts(2), [list("abcdef"), list("abc"), list("bcdef")]
        others = [list("abcdef"), list("bcdef")]
        moved = counts.of(documents, KEY).toarray() - counts.of(others, KEY).toarray()
        assert np.array_equal(
            np.abs(moved) > 0, np.isin(range(6), counts._votes(documents[1], KEY))
        )

    @pytest.mark.parametrize("relation", list(Neighbours))
    def test_the_sensitivity_is_attained_and_never_exceeded(self, relation):
        counts = self.counts(3)
        bound = counts.sensitivity(relation).value
        other = list("def") if relation is Neighbours.REPLACE_ONE else []
        distance = np.linalg.norm(
            counts.of([list("abc")], KEY).toarray() - counts.of([other], KEY).toarray()
        )
        assert distance == pytest.approx(bound)


def test_the_words_of_most_documents_are_found_among_all_spellings():
    documents = [["common", "frequent", "usual"], ["common", "frequent", "other"], ["rare"]] * 400
    model = PrivateVocabulary(10, max_contributions=3, epsilon=4.0)
    found = seeded(model, documents).vocabulary_
    assert set(found.words) == {"common", "frequent", "usual", "other", "rare"}
    assert set(found.words[:2]) == {"common", "frequent"}
    assert list(found.counts) == sorted(found.counts, reverse=True)
    assert abs(found.counts[0] - 800) < 50


def test_words_of_few_documents_and_noise_do_not_pass():
    documents = [["common", "frequent"]] * 300 + [["secret"]] * 3
    for seed in range(5):
        model = seeded(PrivateVocabulary(20, max_contributions=2), documents, seed)
        assert set(model.vocabulary_.words) == {"common", "frequent"}


def test_without_documents_two_words_are_left_and_they_are_noise():
    """Their number is private then, so that there may be none."""
    model = seeded(PrivateVocabulary(20, neighbours="add-or-remove-one"), [])
    assert len(model.vocabulary_) == 2
    assert max(len(word) for word in model.vocabulary_.words) >= 10


def test_candidates_give_as_many_words_as_were_asked_for():
    candidates = ["cat", "dog", "cow", "emu", "gnu"]
    documents = [["cat", "dog", "unknown"]] * 200
    model = PrivateVocabulary(3, candidates=candidates, max_contributions=2).fit(documents)
    assert len(model.vocabulary_) == 3
    assert {"cat", "dog"} < set(model.vocabulary_.words) < set(candidates)
    assert len(PrivateVocabulary(30, candidates=candidates).fit(documents).vocabulary_) == 5


@pytest.mark.parametrize("relation", [n.value for n in Neighbours])
def test_the_noise_is_the_gaussian_of_the_budget(relation):
    model = PrivateVocabulary(2, max_contributions=7, epsilon=0.8, neighbours=relation)
    model.set_params(candidates=["cat", "dog"]).fit([[]])
    votes = 14 if relation == "replace-one" else 7
    mu = math.sqrt(votes) / model.noise_std_
    assert gaussian_delta(mu, 0.8) == pytest.approx(1e-6, rel=1e-4)
    assert model.privacy_.epsilon_at(1e-6) <= 0.8
    assert model.privacy_.neighbours.value == relation


def test_released_counts_have_their_law():
    """All of two candidates are released, so their counts are plain Gaussian releases."""
    model = PrivateVocabulary(2, candidates=["cat", "dog"], max_contributions=1, epsilon=40.0)
    documents = [["cat"]] * 9
    found = [seeded(model, documents, seed) for seed in range(100)]
    cats = [dict(zip(m.vocabulary_.words, m.vocabulary_.counts, strict=True))["cat"] for m in found]
    assert kstest((np.array(cats) - 9) / found[0].noise_std_, "norm").pvalue > 1e-6


def test_what_it_cost_is_charged_and_said_by_whoever_uses_it():
    ledger = InMemoryLedger(5.0, 1e-2, neighbours="zero-out")
    documents = [["cat", "dog"], ["dog", "cow"]] * 200
    spends = PrivateVocabulary(10, max_contributions=2, delta=1e-4, ledger=ledger)
    chosen = seeded(spends, documents)
    model = PrivateCBOW(4, vocabulary=chosen, epsilon=2.0, delta=1e-3, ledger=ledger, n_epochs=1)
    model.fit(documents)
    assert len(ledger.history()) == 2
    assert set(model.index_to_key_) == {"cat", "dog", "cow"}
    (said,) = [fact for fact in model.privacy_.assumptions if "vocabulary" in fact]
    assert "epsilon=1 and delta=0.0001 for each document (zero-out)" in said


def test_noisy_counts_are_the_law_of_negatives():
    chosen = Vocabulary(("cat", "dog"), (16.0, -3.0), "Paid for.")
    records = PrivateCBOW(vocabulary=chosen)._records([], chosen, by_document=True)
    np.testing.assert_allclose(records.law.probabilities, [8 / 9, 1 / 9])


def test_stop_words_are_public_lists():
    documents = [["the", "cat"], ["the", "dog"]] * 300
    for stop in ("english", ["the"], {"the"}):
        model = PrivateVocabulary(5, max_contributions=2, stop_words=stop)
        found = seeded(model, documents)
        assert set(found.vocabulary_.words) == {"cat", "dog"}


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"n_words": 1}, "n_words"),
        ({"candidates": ["cat"]}, "at least 2"),
        ({"candidates": "cat"}, "list of words"),
        ({"alphabet": "a"}, "alphabet"),
        ({"stop_words": "german"}, "stop_words"),
        ({"max_contributions": 0}, "max_contributions"),
        ({"delta": 0}, "delta=0"),
        ({"epsilon": -1}, "epsilon"),
        ({"neighbours": "next-door"}, "neighbours"),
        ({"epsilon": 1e-7, "delta": 1e-9}, "small a budget"),
    ],
)
def test_what_makes_no_sense_is_refused(parameters, match):
    with pytest.raises((ValueError, TypeError), match=match):
        PrivateVocabulary(**parameters).fit([["cat"]])


def test_saved_and_copied():
    model = seeded(PrivateVocabulary(5, candidates=["cat", "dog"]), [["cat"]])
    loaded = pickle.loads(pickle.dumps(model))
    assert loaded.vocabulary_ == model.vocabulary_
    assert loaded.random_state is None
    assert not hasattr(clone(model), "vocabulary_")
