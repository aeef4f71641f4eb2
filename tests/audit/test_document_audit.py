"""Audits of what learns from documents: canary words, and noise that is used twice."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skdp._random import RandomSource
from skdp.audit import audit_epsilon, audit_randomness, audit_worst_cases, worst_case_neighbours
from skdp.audit.repeats import Variants
from skdp.audit.word_canaries import are_documents
from skdp.embedding import PrivateCBOW, PrivateVocabulary, document_counts
from skdp.linear_model import (
    PrivateRidge,
    PrivateRidgeClassifier,
    SparseDPSGDClassifier,
    SparseDPSGDRegressor,
)
from skdp.pipeline import make_private_pipeline
from skdp.preprocessing import PrivateStandardScaler
from skdp.privacy import Neighbours
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
    return kind(7, **{"candidates": WORDS, "max_contributions": 7, **BUDGET, **options})


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

    @pytest.mark.parametrize(
        "documents",
        [
            ["The ant, a Bee and a cat. A dog, an elk; the fox, the gnu!", "Ant bee, Cat."] * 3,
            [["aardvark", "a", *WORDS], *[["ant", "bee"]] * 4],
        ],
    )
    @pytest.mark.parametrize("kind", ["vectors", "votes"])
    def test_words_are_those_that_are_learnt_of(self, kind, documents):
        """Words of another spelling are the same, others are not known, or stopped."""
        model = (
            cbow(VectorsOfOneNoise)
            if kind == "vectors"
            else vocabulary(WordsOfOneNoise, stop_words=["ant"], epsilon=1.0, delta=1e-6)
        )
        variants = Variants.of(model)
        made = [X[0] for (X,) in variants.made_of((documents,), 17)]
        known = set(WORDS) - ({"ant"} if kind == "votes" else set())
        assert {word for X in made for word in (X.split() if isinstance(X, str) else X)} <= known
        assert audit_randomness(model, (documents,), n_fits=2).accuses

    def test_documents_that_are_tried_are_different_ones_in_one_place(self):
        variants = [X for (X,) in Variants().made_of((DOCUMENTS,), 30)]
        assert len({X[0] for X in variants}) == 30
        assert all(X[1:] == DOCUMENTS[1:] for X in variants)
        assert all(len(X[0].split()) >= 2 for X in variants)

    def test_too_few_words_show_nothing(self):
        with pytest.raises(ValueError, match="documents"):
            list(Variants().made_of((["ant bee"],), 17))

    @pytest.mark.parametrize("as_lists", [False, True])
    def test_where_a_record_is_an_example_all_documents_have_two_of_the_vocabulary(self, as_lists):
        """Another number of examples would be no neighbour; two of two each are four apart."""
        model = cbow(PrivateCBOW).set_params(unit="example", window=9)
        variants = Variants.of(model)
        assert (variants.distance, Variants.of(cbow(PrivateCBOW)).distance) == (4, 2)
        known = [*DOCUMENTS, "unknown words", "a b"]
        texts = [text.split() for text in known] if as_lists else known
        made = [X for (X,) in variants.made_of((texts,), 21)]
        sizes = {model._records(X, model._admitted_vocabulary(), False).n_records for X in made}
        assert len(sizes) == 1
        assert len({tuple(X[0]) for X in made}) == 21
        with pytest.raises(ValueError, match="21 documents"):
            list(variants.made_of((texts,), 22))

    def test_examples_need_more_words_than_documents_do(self):
        """21 pairs of words: 17 data sets would do at distance 2, but 68 are needed at 4."""
        model = cbow(VectorsOfOneNoise).set_params(unit="example")
        found = audit_randomness(model, (DOCUMENTS,), n_fits=2)
        assert not found.accuses
        assert "cannot tell" in found.sentence()
        assert audit_randomness(model.set_params(epsilon=0.5), (DOCUMENTS,), n_fits=2).accuses


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
            (vocabulary(neighbours="replace-one"), "document emptied", 1),
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

    def test_two_examples_pull_as_far_as_they_are_clipped_to(self):
        """With the same noise, what is seen differs by what the direction was made of."""
        rare = dict.fromkeys(WORDS[:6], 1) | {WORDS[6]: 10**6}
        model = still(
            unit="example", sampling="fixed_size", batch_size=2, vocabulary=rare, random_state=3
        )
        pair = worst_case_neighbours(model, n_rows=4)[-1]
        seen = [pair.release(model.fit(*side))[0] for side in (pair.data, pair.neighbour)]
        length = np.linalg.norm(pair.release.difference(pair.release.start(model), model))
        # Negatives are those expected, and sums are rounded to a grid.
        assert seen[0] - seen[1] == pytest.approx(length / 2, rel=1e-3)
        assert CLIP < length <= 4 * CLIP

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
        with pytest.raises(ValueError, match="Pass the relation"):
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


class QuietMechanism:
    """Says what a mechanism says, and adds a share of its noise."""

    def __init__(self, mechanism, share):
        self._says = mechanism
        self.release = replace(mechanism, noise_std=share * mechanism.noise_std).release

    def __getattr__(self, name):
        return getattr(self._says, name)


class TestReplacedDocuments:
    """A document of m words of a vocabulary, replaced by one of m others: sqrt(2 m) apart."""

    CLAIM = {"epsilon": 1.0, "delta": 0.3}  # noqa: RUF012

    def model(self):
        return vocabulary(max_contributions=3, neighbours="replace-one", **self.CLAIM)

    def test_the_pair_moves_counts_as_far_as_the_sensitivity(self):
        model = self.model()
        *_, pair = worst_case_neighbours(model, n_rows=5)
        assert (pair.name, pair.distance) == ("document replaced", 1)
        assert pair.data[0][1:] == pair.neighbour[0][1:]
        counts = model._document_counts()
        exact = [counts.of(*side, np.uint64(0)).toarray() for side in (pair.data, pair.neighbour)]
        apart = np.linalg.norm(exact[0] - exact[1])
        assert apart == pytest.approx(counts.sensitivity(Neighbours.REPLACE_ONE).value)
        shown = np.zeros((1, 8))
        shown[0, 2:] = [6.0, 5.0, 4.0, 1.0, 2.0, 3.0]
        assert pair.event(shown) == 9.0

    def test_half_as_many_candidates_have_no_other_words(self):
        model = vocabulary(neighbours="replace-one")
        assert [pair.name for pair in worst_case_neighbours(model)] == ["document emptied"]

    def audited(self, monkeypatch, model, n_fits, share=1.0):
        mechanism = model._mechanism(model._document_counts())
        planted = QuietMechanism(mechanism, share)
        monkeypatch.setattr(PrivateVocabulary, "_mechanism", lambda self, counts: planted)
        *_, pair = worst_case_neighbours(model, n_rows=4)
        return audit_epsilon(
            model, pair.data, pair.neighbour, n_fits=n_fits, event=pair.event,
            release=pair.release, random_state=0,
        )  # fmt: skip

    def test_honest_noise_is_not_accused(self, monkeypatch):
        found = self.audited(monkeypatch, self.model(), 300)
        assert not found.accuses
        assert 0.9 < found.gaussian_counts.mu() < gaussian_mu(**self.CLAIM)

    def test_noise_that_is_divided_by_the_root_of_seven_is_found_out(self, monkeypatch):
        """That happens by chance 1 - 1e-11."""
        assert self.audited(monkeypatch, self.model(), 300, share=1 / math.sqrt(7)).accuses

    def test_noise_for_the_root_of_m_is_found_out(self, monkeypatch):
        """The planted bug counts the document that goes, not the one that comes."""
        monkeypatch.setitem(document_counts._VOTES, Neighbours.REPLACE_ONE, 1)
        assert self.audited(monkeypatch, self.model(), 1000).accuses


class TestPipelines:
    """A step that reads documents makes rows documents; what learns from labels gets some."""

    @staticmethod
    def pipeline(kind=SparseDPSGDClassifier, **options):
        words = PrivateCBOW(2, vocabulary=WORDS, n_epochs=1, batch_size=2)
        return make_private_pipeline(
            words, kind(n_epochs=1, batch_size=3, **options), epsilon=2.0, delta=1e-3
        )

    @pytest.mark.parametrize(
        ("relation", "name", "distance"),
        [
            (None, "document replaced", 2),  # an empty document is a row with a label
            ("replace-one", "document replaced", 1),
            ("add-or-remove-one", "document removed", 1),
        ],
    )
    def test_documents_come_with_labels(self, relation, name, distance):
        pairs = worst_case_neighbours(
            self.pipeline(classes=["no", "yes"]), relation=relation, n_rows=6
        )
        assert [pair.name for pair in pairs] == [name, f"{name}, alone"]
        for pair in pairs:
            (X, y), (other, labels) = pair.data, pair.neighbour
            assert pair.distance == distance
            assert (len(X), len(y), len(other)) == (6, 6, len(labels))
            assert set(y) == {"no", "yes"}
            kept = len(other) - 5
            assert X[1:] == other[kept:]
            assert y[1:].tolist() == labels[kept:].tolist()

    def test_they_can_be_audited_and_weights_and_answers_are_seen(self):
        model = self.pipeline(classes=[0, 1])
        pair = worst_case_neighbours(model)[0]
        shown = pair.release(model.fit(*pair.data))
        last = model.steps[-1][1]
        assert set(last.coef_.ravel()) <= set(shown)
        # a product with one row may be rounded otherwise than with all of them
        (answer,) = model.decision_function(pair.data[0][:1])
        assert np.isclose(answer, shown, rtol=1e-12, atol=0.0).any()
        assert not audit_worst_cases(model, n_fits=20, controls=False).failed

    @pytest.mark.parametrize("kind", [RidgeClassifier(), PrivateRidgeClassifier(classes=[0, 1])])
    def test_words_are_split_by_whoever_can_split_texts_alone(self, kind):
        model = make_pipeline(HashingVectorizer(n_features=16, norm=None), kind)
        pair = worst_case_neighbours(model, relation="replace-one", n_rows=6)[0]
        assert all(isinstance(text, str) for text in pair.data[0])
        found = audit_epsilon(
            model,
            pair.data,
            pair.neighbour,
            n_fits=60,
            release=pair.release,
            epsilon=1.0,
            random_state=0,
        )
        assert found.accuses == isinstance(kind, RidgeClassifier)

    def test_an_empty_document_is_a_row_like_any_other_to_what_learns_without_labels(self):
        model = make_private_pipeline(
            PrivateCBOW(2, vocabulary=WORDS, n_epochs=1, batch_size=2),
            PrivateStandardScaler(method="moments", bounds=(-1, 1)),
            epsilon=3.0, delta=1e-3,
        )  # fmt: skip
        pairs = worst_case_neighbours(model, n_rows=6)
        assert [(pair.name, pair.distance) for pair in pairs] == [
            ("document replaced", 2), ("document replaced, alone", 2),
        ]  # fmt: skip

    def test_as_many_documents_are_made_as_are_asked_for(self):
        model = PrivateCBOW(2, vocabulary=WORDS, n_epochs=1, batch_size=30)
        assert audit_worst_cases(model, n_rows=40, n_fits=20, controls=False).failed == {}

    def test_numbers_are_labels_too(self):
        model = self.pipeline(SparseDPSGDRegressor)
        _, y = worst_case_neighbours(model)[0].data
        assert set(y) == {-50.0, 50.0}

    def test_a_relation_that_no_statement_says_is_asked_for(self):
        model = make_pipeline(cbow(PrivateCBOW), PrivateRidge())
        with pytest.raises(ValueError, match="Pass the relation"):
            worst_case_neighbours(model)

    def test_what_nobody_has_canaries_for_is_refused(self):
        with pytest.raises(ValueError, match=r"estimator__privatecbow=PrivateCBOW.*two data sets"):
            worst_case_neighbours(GridSearchCV(self.pipeline(), {}))
        by_example = make_pipeline(cbow(PrivateCBOW).set_params(unit="example"), PrivateRidge())
        with pytest.raises(ValueError, match="protects no document"):
            worst_case_neighbours(
                by_example.set_params(privateridge=SparseDPSGDClassifier()), relation="zero-out"
            )


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
