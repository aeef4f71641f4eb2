"""Documents as people have them: read before, changed on disk, in every container, or none."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skdp.embedding import (
    LineCorpus,
    PrivateCBOW,
    PrivateVocabulary,
    TaggedCorpus,
    Vocabulary,
)
from skdp.exceptions import BudgetExceededError, PrivacyLeakWarning
from skdp.privacy import InMemoryLedger, PrivacyLedger
from skdp.privacy.statement import SEEDED_NOISE
from tests.support.word_vectors import WORDS, corpus
from tests.test_bad_parameters import INADMISSIBLE_VALUES

DOCUMENTS = corpus((6, 0, 9, 12, 3, 5, 8, 7))
TEXTS = [" ".join(words) for words in DOCUMENTS]
SECRET = "secret8675309"


def cbow(**parameters):
    given = {
        "vector_size": 5, "vocabulary": WORDS, "epsilon": 3.0, "delta": 1e-3, "batch_size": 3,
        "n_epochs": 2,
    }  # fmt: skip
    return PrivateCBOW(**{**given, **parameters})


def voters(**parameters):
    return PrivateVocabulary(**{"candidates": WORDS, "delta": 1e-3, **parameters})


BOTH = pytest.mark.parametrize("make", [cbow, voters], ids=["vectors", "vocabulary"])


def seeded(model, documents):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        return clone(model).set_params(random_state=0).fit(documents)


def released(model):
    if isinstance(model, PrivateVocabulary):
        return np.array(model.vocabulary_.counts)
    return model.vectors_


def refuses(make, documents, match, error=(TypeError, ValueError)):
    """Refused before anything is spent, by words that quote no document; nothing is left behind."""
    ledger = InMemoryLedger(10.0, 1e-2, "zero-out")
    model = make(ledger=ledger)
    before = vars(model).copy()
    with pytest.raises(error, match=match) as refusal:
        model.fit(documents)
    assert SECRET not in str(refusal.value)
    assert not ledger.history()
    assert vars(model) == before


CONTAINERS = {
    "tuple": tuple,
    "generator": iter,
    "series": pd.Series,
    "series with labels": lambda texts: pd.Series(texts, index=range(7, 15)),
    "objects": lambda texts: np.array(texts, dtype=object),
    "strings": np.array,
    "categories": lambda texts: pd.Series(texts, dtype="category"),
}


@BOTH
@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
def test_every_container_of_the_same_texts_is_the_same(make, container):
    wanted = released(seeded(make(), TEXTS))
    assert np.array_equal(released(seeded(make(), container(TEXTS))), wanted)


@pytest.mark.parametrize("container", [tuple, np.array, pd.Series, iter])
def test_every_container_of_the_same_words_is_the_same(container):
    documents = [container(words) if words else [] for words in DOCUMENTS]
    assert np.array_equal(seeded(cbow(), documents).vectors_, seeded(cbow(), DOCUMENTS).vectors_)


NO_DOCUMENTS = {
    "one text": SECRET,
    "bytes": SECRET.encode(),
    "none": None,
    "number": 3.5,
    "mapping": {SECRET: "w0 w1"},
    "frame": pd.DataFrame({SECRET: ["w0 w1"]}),
    "single value": np.array(SECRET, dtype=object),
    "bytes within": [SECRET, SECRET.encode()],
    "bytes of numpy": np.array([SECRET.encode()]),
    "missing": [SECRET, None],
    "not a number": pd.Series([SECRET, np.nan]),
    "missing in pandas": pd.Series([SECRET, None], dtype="string"),
    "numbers": np.zeros((3, 2)),
    "a set of words": [[SECRET], {SECRET, "w0"}],
    "counts": [{SECRET: 3}],
    "a missing word": [[SECRET, None]],
    "sentences of words": [[[SECRET]]],
}


@BOTH
@pytest.mark.parametrize("documents", NO_DOCUMENTS.values(), ids=NO_DOCUMENTS)
def test_what_is_no_list_of_documents_is_refused_without_a_quote(make, documents):
    refuses(make, documents, "X (is one text|must be|holds)", TypeError)


@BOTH
def test_an_iterator_that_was_read_before_is_refused_and_costs_nothing(make):
    documents = iter(TEXTS)
    make().fit(documents)
    refuses(make, documents, "An iterator that was read before")


def test_where_the_number_is_private_an_empty_one_is_no_error():
    assert len(voters(neighbours="add-or-remove-one").fit(iter([])).vocabulary_) == len(WORDS)


@BOTH
def test_a_generator_that_fails_half_way_has_cost_nothing(make):
    def failing():
        yield "w0 w1"
        raise OSError("the disk is gone")

    refuses(make, failing(), "the disk is gone", OSError)


@BOTH
def test_a_refused_refit_leaves_the_model_as_it_was(make):
    model = make().fit(TEXTS)
    before = vars(model).copy()
    for bad in ([*TEXTS, None], iter([])):
        with pytest.raises((TypeError, ValueError)):
            model.fit(bad)
        assert vars(model) == before
        assert all(value is before[name] for name, value in vars(model).items())


@BOTH
@pytest.mark.parametrize("name", ["epsilon", "delta", "random_state"])
def test_inadmissible_parameters_are_refused_by_name(make, name):
    for value in INADMISSIBLE_VALUES[name]:
        refuses(lambda value=value, **how: make(**{name: value}, **how), TEXTS, name)


@BOTH
def test_a_ledger_on_disk_is_paid_before_anything_is_read_from_the_noise(make, tmp_path):
    path = tmp_path / "ledger.db"
    PrivacyLedger.create(path, 6.0, 1e-2, neighbours="zero-out", unit="document")
    model = make(ledger=path, epsilon=3.0).fit(TEXTS)
    n_fits = 1
    with pytest.raises(BudgetExceededError):  # noqa: PT012  (how many it admits is its affair)
        while n_fits < 9:
            before = vars(model).copy()
            model.fit(TEXTS)
            n_fits += 1
    assert vars(model) == before
    assert len(PrivacyLedger(path).history()) == n_fits
    with pytest.raises(ValueError, match="each document"):
        cbow(ledger=path, unit="example", epsilon=0.1).fit(TEXTS)


class TestOnePass:
    """Fitting and transforming read once, so that no second pass can see other documents."""

    def test_a_generator_gives_a_row_for_each_document(self):
        model = cbow()
        found = model.fit_transform(iter(TEXTS))
        assert np.array_equal(found, model.transform(TEXTS))
        assert make_pipeline(cbow(), StandardScaler()).fit_transform(iter(TEXTS)).shape == (8, 5)

    @pytest.mark.parametrize("unit", ["document", "example"])
    def test_a_corpus_that_grows_is_read_once(self, unit):
        class Growing:
            passes = 0

            def __iter__(self):
                self.passes += 1
                return iter(TEXTS * self.passes)

        growing = Growing()
        model = cbow(unit=unit)
        assert model.fit_transform(growing).shape == (8, 5)
        assert growing.passes == 1
        seeded(cbow(unit=unit), growing)
        voters().fit(growing)
        assert growing.passes == 3

    def test_a_file_that_vanishes_after_the_fit_is_not_needed(self, tmp_path):
        path = tmp_path / "corpus.txt"
        path.write_text("\n".join(TEXTS))
        model = cbow()
        found = model.fit_transform(LineCorpus(path))
        path.unlink()
        assert np.array_equal(found, model.transform(TEXTS))

    def test_in_any_container_for_output(self):
        for container in ("pandas", "polars"):
            pytest.importorskip(container)
            model = cbow().set_output(transform=container)
            for found in (model.fit_transform(iter(TEXTS)), model.transform(iter(TEXTS))):
                assert found.shape == (8, 5)
                assert list(found.columns) == model.get_feature_names_out().tolist()
        labelled = pd.Series(TEXTS, index=list("abcdefgh"))
        model = cbow().set_output(transform="pandas")
        assert model.fit(labelled).transform(labelled).index.tolist() == list("abcdefgh")

    def test_a_seed_warns_where_it_was_called(self):
        for call in (cbow(random_state=1).fit, cbow(random_state=1).fit_transform):
            with pytest.warns(PrivacyLeakWarning, match="random_state") as caught:
                call(TEXTS)
            assert [warning.filename for warning in caught] == [__file__]


@BOTH
@pytest.mark.parametrize(
    "documents",
    [
        ["nobody knows these words"] * 8,
        [["w0"]] * 8,
        [[]] * 7 + [["w1", "w2"]],
        [["w0", "w1"] * 200_000, ["w2"]],
        ["\ud800 \x00 w0 \u202e w1", "W0 w1", "\ufeffw0 w1"],
    ],
    ids=["unknown words", "one word", "empty but one", "a long one", "half letters"],
)
def test_ugly_documents_fit_without_a_word(make, documents):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = make(**({"batch_size": 1, "max_contributions": 1} if make is cbow else {}))
        assert np.isfinite(released(model.fit(documents))).all()


class TestFiles:
    @pytest.mark.parametrize("kind", [LineCorpus, TaggedCorpus])
    @BOTH
    def test_that_are_not_there_or_cannot_be_read_cost_nothing(self, make, kind, tmp_path):
        refuses(make, kind(tmp_path / "nowhere"), "nowhere", FileNotFoundError)
        (tmp_path / "one.txt").write_text("w0 w1")
        path = tmp_path if kind is TaggedCorpus else tmp_path / "one.txt"
        refuses(make, kind(path, encoding="nonsense"), "nonsense", LookupError)

    @BOTH
    def test_a_folder_without_such_files_has_no_document(self, make, tmp_path):
        refuses(make, TaggedCorpus(tmp_path), "There is no document")

    def test_bytes_that_are_no_text_are_replaced_not_quoted(self, tmp_path):
        path = tmp_path / "latin.txt"
        path.write_bytes("w0 w1 \xe9t\xe9\n".encode("latin-1") * 3 + b"\xff\xfe w2\n")
        assert cbow().fit(LineCorpus(path)).vectors_.shape == (12, 5)


class TestVocabularies:
    @pytest.mark.parametrize(
        ("vocabulary", "match"),
        [
            (iter(WORDS), "iterator"),
            (PrivateVocabulary(), "not fitted.*vocabulary_"),
            (pd.Series({"w0": 3.0, "w1": 2.0}), "strings"),
            (["w0", b"w1"], "strings"),
        ],
        ids=["iterator", "unfitted", "series of counts", "bytes"],
    )
    def test_that_are_none_are_refused(self, vocabulary, match):
        refuses(lambda **how: cbow(vocabulary=vocabulary, **how), DOCUMENTS, match)

    def test_a_clone_of_a_model_with_a_fitted_one_says_what_to_pass(self):
        fitted = voters().fit(DOCUMENTS)
        assert len(cbow(vocabulary=fitted).fit(DOCUMENTS).vectors_) == len(WORDS)
        with pytest.raises(ValueError, match="pass its vocabulary_"):
            clone(cbow(vocabulary=fitted)).fit(DOCUMENTS)
        assert len(clone(cbow(vocabulary=fitted.vocabulary_)).fit(DOCUMENTS).vectors_) == len(WORDS)

    @pytest.mark.parametrize("container", [np.array, pd.Series, pd.Index, set, frozenset, tuple])
    def test_of_every_container(self, container):
        words = cbow(vocabulary=container(WORDS)).fit(DOCUMENTS).index_to_key_
        assert set(words) == set(WORDS)
        assert {type(word) for word in words} == {str}

    def test_that_were_changed_since_the_fit_are_not_scored(self):
        model = cbow().fit(DOCUMENTS)
        assert model.score(DOCUMENTS) < 0
        with pytest.raises(ValueError, match="changed since the fit"):
            model.set_params(vocabulary=WORDS[::-1]).score(DOCUMENTS)

    def test_what_was_chosen_with_a_seed_is_named_in_the_statement_of_the_vectors(self):
        quiet, loud = voters().fit(DOCUMENTS), seeded(voters(), DOCUMENTS)
        assert loud.privacy_.noise == SEEDED_NOISE
        for chosen, told in ((quiet, False), (loud, True)):
            statement = cbow(vocabulary=chosen.vocabulary_).fit(DOCUMENTS).privacy_
            assert ("SEEDED" in statement.explain()) == told

    def test_stop_words_are_words(self):
        refuses(lambda **how: voters(stop_words=[3], **how), DOCUMENTS, "stop_words")

    @pytest.mark.parametrize("word", ["", "new york", "a\u2028b", "half \ud800", "\udfff"])
    def test_words_that_no_file_can_hold_leave_no_file(self, word, tmp_path):
        model = cbow(vocabulary=[*WORDS, word]).fit(DOCUMENTS)
        with pytest.raises(ValueError, match="word2vec"):
            model.save_word2vec_format(tmp_path / "vectors")
        assert not list(tmp_path.iterdir())

    def test_a_vocabulary_is_what_was_given(self):
        given = Vocabulary(WORDS, tuple(range(12)), "Paid for.")
        assert Vocabulary.of(given) is given


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"max_contributions": 2**31 - 1}, "lower max_contributions"),
        ({"negative": 10**9}, "lower max_contributions or negative"),
        ({"negative": 10**30}, "negative"),
        ({"window": 10**30}, "window"),
        ({"vector_size": 10**30}, "vector_size"),
        ({"vector_size": 2**31 - 1, "vocabulary": [f"w{i}" for i in range(5000)]}, "no memory"),
    ],
    ids=str,
)
def test_what_would_not_fit_into_memory_is_refused_before_it_costs(parameters, match):
    refuses(lambda **how: cbow(**parameters, **how), DOCUMENTS, match, ValueError)


def test_a_number_of_neighbours_below_zero_is_refused():
    model = cbow().fit(DOCUMENTS)
    assert model.most_similar("w0", topn=0) == []
    with pytest.raises(ValueError, match="topn"):
        model.most_similar("w0", topn=-1)
