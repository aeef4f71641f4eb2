"""PrivateCBOW as an estimator: what it releases, refuses, saves and says."""

import pickle
import re
import warnings
import zipfile

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skdp.embedding import (
    LineCorpus,
    PrivateCBOW,
    PrivateVocabulary,
    TaggedCorpus,
    Vocabulary,
    WholeRows,
)
from skdp.exceptions import BudgetExceededError, PrivacyLeakWarning
from skdp.privacy import InMemoryLedger, Neighbours
from skdp.training import AllCoordinates, GaussianSelector, PoissonSampler, ValidationDecay
from tests.support.word_vectors import WORDS, corpus

DOCUMENTS = corpus((6, 0, 9, 12, 3, 5, 8, 7))
SELECTORS = (
    {"selector": None},
    {"selector": "gaussian", "selection": "coordinates"},
    {"selector": "gaussian", "selection": "coordinates", "selected_grad_norm": 2.0},
    {"selector": "exponential", "selection": "coordinates"},
    {"selector": "sparse_vector", "selection": "coordinates"},
    {"selector": "adafest", "selection": "coordinates"},
    {"selector": "gaussian", "n_selected": 3},
    {"selector": "exponential", "n_selected": 2},
    {"selector": "noisy_max", "n_selected": 2},
    {"selector": "sparse_vector", "n_selected": 2},
    {"selector": "adafest", "n_selected": 2},
    {"selector": GaussianSelector(3, share=0.4)},
    {"selector": AllCoordinates()},
)


def make(**parameters):
    given = {
        "vector_size": 5,
        "vocabulary": WORDS,
        "epsilon": 3.0,
        "delta": 1e-3,
        "batch_size": 3,
        "n_epochs": 2,
        "selector": "gaussian",
    }
    return PrivateCBOW(**{**given, **parameters})


def seeded(model, documents=DOCUMENTS, seed=0):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        return clone(model).set_params(random_state=seed).fit(documents)


@pytest.mark.parametrize("unit", ["document", "example"])
@pytest.mark.parametrize("selector", SELECTORS, ids=str)
def test_every_selector_and_unit_releases_vectors_within_the_budget(selector, unit):
    model = make(unit=unit, **selector).fit(DOCUMENTS)
    assert model.vectors_.shape == (12, 5)
    assert np.isfinite(model.vectors_).all()
    assert model.index_to_key_ == list(WORDS)
    assert (model.privacy_.epsilon, model.privacy_.delta) == (3.0, 1e-3)
    assert model.privacy_.epsilon_at(1e-3) <= 3.0
    assert model.privacy_.unit == unit


def test_attributes_are_the_vectors_and_public_facts_alone():
    model = make().fit(DOCUMENTS)
    assert {name for name in vars(model) if name.endswith("_")} == {
        "vectors_",
        "index_to_key_",
        "privacy_",
        "noise_multiplier_",
        "n_steps_",
        "batch_size_",
        "learning_rate_",
    }
    assert (model.n_steps_, model.batch_size_) == (5, 3)


def test_without_a_vocabulary_it_refuses_and_says_what_to_do():
    with pytest.raises(ValueError, match="PrivateVocabulary"):
        PrivateCBOW().fit(DOCUMENTS)


def test_a_fit_learns_which_words_are_together():
    """With little noise: four pairs of words that only occur with each other."""
    documents = [[f"w{2 * i}", f"w{2 * i + 1}"] * 4 for i in range(4)] * 50
    model = seeded(
        make(
            epsilon=30.0, n_epochs=100, batch_size=100, learning_rate=0.02, vector_size=8,
            selector=None, max_grad_norm=1.0, vocabulary=WORDS[:8],
        ),
        documents,
    )  # fmt: skip
    for i in range(4):
        first, second = f"w{2 * i}", f"w{2 * i + 1}"
        assert model.most_similar(first, topn=1)[0][0] == second
        assert model.similarity(first, second) > 0.6
    assert model.score(documents) > -9 * np.log(2)


def test_the_statement_says_what_one_record_is_and_what_is_public():
    text = make().fit(DOCUMENTS).privacy_.explain()
    assert "number of documents is public" in text
    assert "The vocabulary is public" in text
    text = make(unit="example").fit(DOCUMENTS).privacy_.explain()
    assert "does not hide a document" in text.replace("\n", " ")


def test_the_number_of_documents_may_be_private():
    sampler = PoissonSampler(0.4, 3.0, Neighbours.ADD_OR_REMOVE_ONE)
    for documents in (DOCUMENTS, DOCUMENTS[:1], []):
        model = make(sampling=sampler, batch_size="auto").fit(documents)
        assert model.privacy_.neighbours is Neighbours.ADD_OR_REMOVE_ONE
        assert (model.n_steps_, model.batch_size_) == (5, 3.0)
        assert "is private" in model.privacy_.explain()
    with pytest.raises(ValueError, match="no add-or-remove-one for unit='example'"):
        make(sampling=sampler, batch_size="auto", unit="example").fit(DOCUMENTS)


def test_where_numbers_are_public_there_must_be_a_record():
    with pytest.raises(ValueError, match="There is no document"):
        make().fit([])
    with pytest.raises(ValueError, match="There is no example"):
        make(unit="example").fit([["w0"], ["other", "w1"], []])


def test_documents_without_a_word_are_documents():
    model = make().fit([[], ["other"], ["w0"]])
    assert np.isfinite(model.vectors_).all()


def test_texts_and_lists_of_words_are_the_same_documents():
    texts = [" ".join(words).upper() for words in DOCUMENTS]
    lists, strings, once = (
        seeded(make(), X).vectors_ for X in (DOCUMENTS, texts, (d for d in DOCUMENTS))
    )
    assert np.array_equal(lists, strings)
    assert np.array_equal(lists, once)


@pytest.mark.parametrize(
    ("documents", "match"),
    [
        ("one long text", "is one text"),
        (b"bytes", "bytes"),
        ([b"bytes"], "bytes"),
        ([["w0", 3]], "neither a text nor a list"),
        ([["w0", None]], "neither a text nor a list"),
        ([3.5, "w0"], "neither a text nor a list"),
        (np.zeros((3, 2)), "neither a text nor a list"),
        (None, "iterable"),
        (7, "iterable"),
        ([{"w0": 1}], "neither a text nor a list"),
    ],
)
def test_what_is_no_document_is_refused_before_anything_is_spent_and_never_quoted(documents, match):
    ledger = InMemoryLedger(10.0, 1e-2)
    for model in (make(ledger=ledger), PrivateVocabulary(delta=1e-3, ledger=ledger)):
        with pytest.raises(TypeError, match=match) as refusal:
            model.fit(documents)
        assert "w0" not in str(refusal.value)
        assert not vars(model).keys() & {"vectors_", "vocabulary_", "privacy_"}
    assert not ledger.history()


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"vector_size": 0}, "vector_size"),
        ({"window": 0}, "window"),
        ({"negative": 0}, "negative"),
        ({"epsilon": 0}, "epsilon"),
        ({"delta": 0}, "delta=0"),
        ({"unit": "sentence"}, "unit"),
        ({"max_contributions": 0}, "max_contributions"),
        ({"selector": "best"}, "selector"),
        ({"selection": "columns"}, "selection"),
        ({"selector": None, "n_selected": 3}, "n_selected is set"),
        ({"selector": None, "selected_grad_norm": 3.0}, "selected_grad_norm is set"),
        ({"n_selected": 13}, "larger than the number of rows"),
        ({"n_selected": 61, "selection": "coordinates"}, "larger than the number of coordinates"),
        ({"selector": GaussianSelector(3)}, "needs a share"),
        ({"selector": WholeRows(GaussianSelector(3, share=0.5), 7)}, "row_size=7"),
        ({"epsilon": 1e-6, "delta": 1e-9, "batch_size": 8}, "lost in rounding"),
        ({"batch_size": 9}, "batch_size=9 is larger"),
        ({"optimizer": "sgd"}, "needs a learning_rate"),
        ({"vocabulary": "w0 w1"}, "list of words"),
        ({"vocabulary": ["w0"]}, "at least 2"),
        ({"vocabulary": ["w0", "w0"]}, "twice"),
        ({"vocabulary": ["w0", 3]}, "strings"),
        ({"vocabulary": {"w0": 1.0, "w1": np.nan}}, "finite"),
        ({"vocabulary": 5}, "list of words"),
        ({"noise_schedule": ValidationDecay()}, "fixed beforehand"),
    ],
)
def test_what_makes_no_sense_is_refused(parameters, match):
    with pytest.raises((ValueError, TypeError), match=match):
        make(**parameters).fit(DOCUMENTS)


def test_a_sampler_without_a_theorem_for_the_selector_is_refused():
    with pytest.raises(ValueError, match="no privacy theorem"):
        make(selector="exponential", sampling="fixed_size").fit(DOCUMENTS)


def test_each_fit_spends_before_it_computes():
    ledger = InMemoryLedger(4.0, 1e-2, neighbours="zero-out")
    model = make(ledger=ledger).fit(DOCUMENTS)
    assert len(ledger.history()) == 1
    vectors = model.vectors_
    with pytest.raises(BudgetExceededError):
        model.fit(DOCUMENTS)
    assert model.vectors_ is vectors
    assert len(ledger.history()) == 1


def test_without_a_seed_no_two_fits_are_alike_and_a_seed_warns():
    first, second = make().fit(DOCUMENTS), make().fit(DOCUMENTS)
    assert not np.array_equal(first.vectors_, second.vectors_)
    with pytest.warns(PrivacyLeakWarning, match="random_state"):
        make(random_state=3).fit(DOCUMENTS)
    assert np.array_equal(seeded(make()).vectors_, seeded(make()).vectors_)
    assert "seeded" in seeded(make()).privacy_.noise


def test_the_plain_route_trains_the_same_vectors(monkeypatch):
    import skdp.embedding.gradients as module

    monkeypatch.setattr("skdp.embedding.run.CbowRun.fused", False)
    compiled = seeded(make()).vectors_
    monkeypatch.setattr(module, "route_of", module.NumpyRoute)
    np.testing.assert_allclose(seeded(make()).vectors_, compiled, atol=1e-3)


def test_saved_and_copied_models_are_the_same_without_their_seed():
    model = seeded(make())
    loaded = pickle.loads(pickle.dumps(model))
    assert np.array_equal(loaded.vectors_, model.vectors_)
    assert loaded.random_state is None
    assert loaded.most_similar("w3") == model.most_similar("w3")
    assert loaded.privacy_.to_dict() == model.privacy_.to_dict()


def test_a_clone_keeps_a_vocabulary_that_was_paid_for():
    vocabulary = Vocabulary(WORDS, tuple(range(12)), "Paid for.")
    copy = clone(make(vocabulary=vocabulary))
    assert copy.fit(DOCUMENTS).index_to_key_ == list(WORDS)
    assert "Paid for." in copy.privacy_.assumptions


class TestTransform:
    def test_documents_become_means_of_their_words(self):
        model = make().fit(DOCUMENTS)
        found = model.transform([["w1", "other", "w4", "w1"], [], "nothing known"])
        wanted = (2 * model.vectors_[1] + model.vectors_[4]) / 3
        np.testing.assert_allclose(found[0], wanted)
        assert not found[1:].any()
        assert model.transform([]).shape == (0, 5)
        assert model.get_feature_names_out().tolist() == [f"privatecbow{i}" for i in range(5)]

    def test_it_is_a_step_of_a_pipeline(self):
        pipeline = make_pipeline(make(), StandardScaler())
        assert pipeline.fit_transform(DOCUMENTS).shape == (8, 5)

    def test_an_unfitted_model_says_so(self):
        for call in (
            lambda m: m.transform(DOCUMENTS),
            lambda m: m.most_similar("w0"),
            lambda m: m.similarity("w0", "w1"),
            lambda m: m.score(DOCUMENTS),
            lambda m: m.save_word2vec_format("nowhere"),
        ):
            with pytest.raises(NotFittedError):
                call(make())


class TestNeighbours:
    def test_cosines_are_those_of_the_vectors(self):
        model = make().fit(DOCUMENTS)
        unit = model.vectors_ / np.linalg.norm(model.vectors_, axis=1, keepdims=True)
        assert model.similarity("w2", "w7") == pytest.approx(unit[2] @ unit[7])
        sought = unit[2] + unit[3] - unit[5]
        cosines = unit @ sought / np.linalg.norm(sought)
        order = [f"w{i}" for i in np.argsort(-cosines) if i not in (2, 3, 5)]
        found = model.most_similar(positive=["w2", "w3"], negative="w5", topn=4)
        assert [word for word, _ in found] == order[:4]
        assert found[0][1] == pytest.approx(cosines[int(order[0][1:])])
        assert len(model.most_similar("w0", topn=99)) == 11

    def test_unknown_words_and_empty_questions_are_refused(self):
        model = make().fit(DOCUMENTS)
        with pytest.raises(KeyError, match="'nobody' is not in the vocabulary"):
            model.similarity("w0", "nobody")
        with pytest.raises(ValueError, match="at least one word"):
            model.most_similar()


def read_word2vec(path, binary):
    """Read the format as the original program writes it: a parser of our own."""
    data = path.read_bytes()
    header, _, rest = data.partition(b"\n")
    n, size = map(int, header.split())
    words, vectors = [], []
    for _ in range(n):
        word, _, rest = rest.partition(b" ")
        words.append(word.decode().lstrip("\n"))
        if binary:
            vectors.append(np.frombuffer(rest[: 4 * size], dtype="<f4"))
            rest = rest[4 * size :]
        else:
            line, _, rest = rest.partition(b"\n")
            vectors.append(np.array(line.split(), dtype=float))
    assert not rest
    return words, np.array(vectors)


class TestWord2vecFormat:
    @pytest.mark.parametrize("binary", [False, True])
    def test_a_parser_finds_the_vectors(self, tmp_path, binary):
        words = [*WORDS[:10], "naïve", "日本"]
        model = make(vocabulary=words).fit(DOCUMENTS)
        model.save_word2vec_format(tmp_path / "vectors", binary=binary)
        found, vectors = read_word2vec(tmp_path / "vectors", binary)
        assert found == words
        wanted = model.vectors_.astype(np.float32) if binary else model.vectors_
        assert np.array_equal(vectors, wanted)

    @pytest.mark.parametrize("binary", [False, True])
    def test_gensim_finds_them_too(self, tmp_path, binary):
        models = pytest.importorskip("gensim.models", reason="gensim is not installed")
        model = make().fit(DOCUMENTS)
        model.save_word2vec_format(tmp_path / "vectors", binary=binary)
        loaded = models.KeyedVectors.load_word2vec_format(tmp_path / "vectors", binary=binary)
        assert loaded.index_to_key == model.index_to_key_
        np.testing.assert_allclose(loaded.vectors, model.vectors_, rtol=1e-6)
        ours, theirs = model.most_similar("w3", topn=5), loaded.most_similar("w3", topn=5)
        assert [word for word, _ in ours] == [word for word, _ in theirs]

    def test_words_that_it_cannot_hold_are_refused(self, tmp_path):
        model = make(vocabulary=["new york", "w0"]).fit(DOCUMENTS)
        with pytest.raises(ValueError, match="blanks"):
            model.save_word2vec_format(tmp_path / "vectors")
        assert not (tmp_path / "vectors").exists()


class TestCorpora:
    def test_lines_are_documents_and_may_be_read_again(self, tmp_path):
        path = tmp_path / "corpus.txt"
        path.write_bytes("one two\r\n\nthr\u00e9e\u2028four".encode() + b" \xff")
        lines = LineCorpus(path)
        assert list(lines) == list(lines) == ["one two", "", "thr\u00e9e\u2028four \ufffd"]
        assert next(iter(LineCorpus(path, encoding="latin-1"))) == "one two"

    def test_a_model_reads_them(self, tmp_path):
        path = tmp_path / "corpus.txt"
        path.write_text("".join(" ".join(words) + "\n" for words in DOCUMENTS))
        assert np.array_equal(seeded(make(), LineCorpus(path)).vectors_, seeded(make()).vectors_)

    def test_brown_is_read_from_its_folder_without_what_else_is_there(self, tmp_path):
        (tmp_path / "ca02").write_text("\n\tHis/pp$ 1/2/cd ``/``\n")
        (tmp_path / "ca01").write_text("The/at jury/nn")
        (tmp_path / "README").write_text("not a text")
        (tmp_path / "cats.txt").write_text("ca01 news")
        wanted = [["the", "jury"], ["his", "1/2", "``"]]
        assert list(TaggedCorpus.brown(tmp_path)) == wanted
        with zipfile.ZipFile(tmp_path / "brown.zip", "w") as archive:
            for name in ("ca02", "ca01", "README", "cats.txt"):
                archive.write(tmp_path / name, f"brown/{name}")
        assert list(TaggedCorpus.brown(tmp_path / "brown.zip")) == wanted

    def test_masc_is_read_from_its_zip(self, tmp_path):
        with zipfile.ZipFile(tmp_path / "masc.zip", "w") as archive:
            archive.writestr("masc_tagged/", "")
            archive.writestr("masc_tagged/categories.txt", "spoken/a.txt court")
            archive.writestr("masc_tagged/data/spoken/a.txt", "Ms._NNP under_score_NN")
        assert list(TaggedCorpus.masc(tmp_path / "masc.zip")) == [["ms.", "under_score"]]


def test_whole_rows_are_a_selector_of_their_own():
    selector = WholeRows(GaussianSelector(2, share=0.5), 5)
    model = make(selector=selector, selection="coordinates").fit(DOCUMENTS)
    assert re.search("rows|noisy vector", model.privacy_.theorem)
