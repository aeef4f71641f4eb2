"""Audits of what learns from documents: canary words, and noise that is used twice."""

import numpy as np
import pandas as pd
import pytest

from skdp._random import RandomSource
from skdp.audit import audit_epsilon, audit_randomness, audit_worst_cases, worst_case_neighbours
from skdp.audit.repeats import with_one_row
from skdp.audit.word_canaries import are_documents
from skdp.embedding import PrivateCBOW, PrivateVocabulary
from skdp.linear_model import PrivateRidge
from skdp.privacy.gaussian_curve import gaussian_epsilon, gaussian_mu

WORDS = ["ant", "bee", "cat", "dog", "elk", "fox", "gnu"]
DOCUMENTS = [" ".join(WORDS), *["ant bee cat"] * 4]
BUDGET = {"epsilon": 3.0, "delta": 0.1}
CLIP = 0.3
#: At a large delta few fits show much; vectors hardly move, so that a canary pulls alike each step.
STILL = {
    "vocabulary": dict.fromkeys(WORDS[:4], 1) | dict.fromkeys(WORDS[4:], 10**6),
    "ns_exponent": 1.0, "window": 1, "negative": 1, "max_grad_norm": CLIP, "init_scale": 1.0,
    "optimizer": "sgd", "learning_rate": 1e-6, "n_epochs": 1, "sampling": "full",
}  # fmt: skip

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.PrivacyLeakWarning")


def still(**options):
    return PrivateCBOW(2, **{**STILL, **BUDGET, **options})


def vocabulary(kind=PrivateVocabulary, **options):
    return kind(7, candidates=WORDS, max_contributions=7, **{**BUDGET, **options})


class _OneNoise:
    """Draws the same noise in every fit."""

    def _random_source(self, stacklevel):
        return RandomSource.from_seed(0)


class VectorsOfOneNoise(_OneNoise, PrivateCBOW):
    pass


class WordsOfOneNoise(_OneNoise, PrivateVocabulary):
    pass


def cbow(kind):
    return kind(2, vocabulary=WORDS, delta=1e-6, n_epochs=1, batch_size=5, sampling="poisson")


class TestNoiseThatIsUsedTwice:
    @pytest.mark.parametrize("model", [cbow(PrivateCBOW), vocabulary(epsilon=1.0, delta=1e-6)])
    def test_ours_is_not(self, model):
        for documents in (DOCUMENTS, pd.Series(DOCUMENTS)):
            found = audit_randomness(model, (documents,), n_fits=2)
            assert found.repeated == found.unclear == ()

    @pytest.mark.parametrize("as_lists", [False, True])
    @pytest.mark.parametrize(
        "model", [cbow(VectorsOfOneNoise), vocabulary(WordsOfOneNoise, epsilon=1.0, delta=1e-6)]
    )
    def test_a_generator_with_a_seed_is_found_out(self, model, as_lists):
        documents = [text.split() for text in DOCUMENTS] if as_lists else DOCUMENTS
        found = audit_randomness(model, (documents,), n_fits=2)
        assert found.accuses
        assert "without any noise" in found.sentence()

    def test_documents_that_are_tried_are_different_ones_in_one_place(self):
        variants = [X for (X,) in with_one_row((DOCUMENTS,), 30)]
        assert len({X[0] for X in variants}) == 30
        assert all(X[1:] == DOCUMENTS[1:] for X in variants)
        assert all(len(X[0].split()) >= 2 for X in variants)

    def test_too_few_words_show_nothing(self):
        with pytest.raises(ValueError, match="documents"):
            list(with_one_row((["ant bee"],), 17))


def test_documents_are_told_from_tables():
    assert are_documents(DOCUMENTS)
    assert are_documents([["ant", "bee"], []])
    assert are_documents(np.array(["ant bee", "cat"]))
    for other in ([[1.0, 2.0]], np.array([["a"], ["b"]]), "ant bee", [], ["", ""], iter(DOCUMENTS)):
        assert not are_documents(other)


class TestCanaries:
    @pytest.mark.parametrize(
        ("model", "name", "distance"),
        [
            (still(), "document emptied", 1),
            (still(sampling="fixed_size", batch_size=2), "document replaced", 1),
            (still(unit="example", sampling="fixed_size", batch_size=2), "two examples", 2),
            (still(unit="example"), "two examples", 4),
            (vocabulary(), "document emptied", 1),
            (vocabulary(neighbours="add-or-remove-one"), "document removed", 1),
            (PrivateVocabulary(neighbours="add-or-remove-one", **BUDGET), "document removed", 1),
        ],
    )
    def test_pairs_are_neighbours_as_the_guarantee_has_it(self, model, name, distance):
        for pair in worst_case_neighbours(model, n_rows=5):
            assert pair.name.startswith(name)
            assert pair.distance == distance
            (first,), (second,) = pair.data, pair.neighbour
            assert len(first) - len(second) == ("removed" in name)
            others = second if "removed" in name else second[1:]
            assert first[1:] == others
            assert first[0] not in second or "removed" in name or first[0] == first[1]

    def test_a_canary_pulls_as_far_as_it_may(self):
        """With the same noise, what is seen differs by the clipping norm, in each of the steps."""
        model = still(n_epochs=3, random_state=3)
        (there,), (gone,) = (
            getattr(worst_case_neighbours(model, n_rows=4)[-1], name)
            for name in ("data", "neighbour")
        )
        seen = worst_case_neighbours(model, n_rows=4)[-1].release
        steps = [seen(model.fit(documents)) for documents in (there, gone)]
        apart = (steps[0] - steps[1])[0]
        assert 0.9 * 3 * CLIP / 4 < apart <= 3 * CLIP / 4 * (1 + 1e-9)

    def test_as_few_words_as_there_may_be_are_enough_but_for_examples(self):
        two = {"vocabulary": WORDS[:2]}
        pairs = worst_case_neighbours(still(sampling="fixed_size", batch_size=2, **two))
        assert pairs[0].neighbour[0][0] == []
        with pytest.raises(ValueError, match="three words"):
            worst_case_neighbours(still(unit="example", **two))

    @pytest.mark.parametrize(
        "words", [["i", "a", "cat", "dog", "fox"], ["Ant", "two words", "cat", "dog", "elk"]]
    )
    def test_words_that_no_text_is_cut_into_count_all_the_same(self, words):
        """The number of examples is public: neighbours must have as many."""
        model = still(vocabulary=words, unit="example")
        for pair in worst_case_neighbours(model):
            counts = [model.fit(side[0]).batch_size_ for side in (pair.data, pair.neighbour)]
            assert counts[0] == counts[1] > 0

    def test_stop_words_are_no_canaries(self):
        model = vocabulary(stop_words=WORDS[:2])
        (first,), _ = worst_case_neighbours(model)[0].data, None
        assert set(first[0]) == set(WORDS[2:])

    def test_the_relation_is_asked_for_where_no_fit_says_it(self):
        assert [p.distance for p in worst_case_neighbours(still(sampling="poisson", batch_size=50))]
        unable = still(vocabulary=WORDS[:2])
        with pytest.raises(ValueError, match="pass the relation"):
            worst_case_neighbours(unable.set_params(epsilon=-1.0))
        pairs = worst_case_neighbours(unable, relation="zero-out")
        assert {pair.name for pair in pairs} == {"document emptied"}

    def test_without_a_seed_the_vectors_are_seen(self):
        model = still().fit(DOCUMENTS)
        seen = worst_case_neighbours(model)[0].release(model)
        np.testing.assert_array_equal(seen, model.vectors_.ravel())

    @pytest.mark.parametrize(
        ("model", "share"), [(still(), 0.4), (vocabulary(), 0.4)], ids=["vectors", "vocabulary"]
    )
    def test_an_attack_comes_near_the_claim_and_not_above_it(self, model, share):
        found = audited(model, model)
        assert not found.accuses
        assert found.gaussian_epsilon > share * BUDGET["epsilon"]

    @pytest.mark.slow
    @pytest.mark.parametrize("make", [still, vocabulary])
    def test_half_of_the_noise_is_found_out(self, make):
        loud = gaussian_epsilon(2 * gaussian_mu(**BUDGET), BUDGET["delta"])
        assert audited(make(), make(epsilon=loud), n_fits=600).accuses

    def test_all_pairs_can_be_audited_at_once(self):
        found = audit_worst_cases(still(), n_fits=30, controls=False, random_state=0)
        assert not found.failed
        assert not found.accuses


def audited(claims, model, n_fits=200):
    pair = worst_case_neighbours(claims, n_rows=4)[-1]
    return audit_epsilon(
        model, pair.data, pair.neighbour, n_fits=n_fits, release=pair.release,
        event=lambda outputs: outputs[:, 2:].sum(axis=1) if len(pair.release.words) > 2
        else outputs[:, 2],
        epsilon=claims.epsilon, delta=claims.delta, distance=pair.distance, random_state=0,
    )  # fmt: skip


def test_models_of_tables_get_no_documents():
    assert all(len(pair.data) == 2 for pair in worst_case_neighbours(PrivateRidge()))
