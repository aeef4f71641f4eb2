"""Examples, negatives and gradients of word vectors against brute force."""

import itertools

import numpy as np
import pytest
from scipy.special import log_expit
from scipy.stats import chisquare

from skdp.embedding.encoding import encoded, n_examples
from skdp.embedding.mixing import below, mixed
from skdp.embedding.negatives import NegativeLaw
from skdp.embedding.records import pairs
from skdp.embedding.words import Vocabulary
from tests.support.word_vectors import SIZE, WORDS, corpus, gradients_of, records_of

ROUTES = ("compiled", "numpy")
KEY = np.uint64(3)
GRID = 2.0**-40
ROWS = np.arange(3)


def table_of(seed=0, scale=1.0):
    return scale * np.random.default_rng(seed).normal(size=(len(WORDS), SIZE))


def loss_of(table, examples):
    """The formula of the paper, example by example."""
    total = 0.0
    for target, context, negatives in zip(*examples, strict=True):
        total -= log_expit(table[target] @ table[context])
        total -= sum(log_expit(-table[other] @ table[context]) for other in negatives)
    return total


def brute_gradient(table, examples):
    """Central differences."""
    step, found = 1e-6, np.zeros(table.size)
    for place in range(table.size):
        moved = np.zeros(table.size)
        moved[place] = step
        moved = moved.reshape(table.shape)
        found[place] = loss_of(table + moved, examples) - loss_of(table - moved, examples)
    return found / (2 * step)


@pytest.mark.parametrize("window", [1, 2, 5, 50])
@pytest.mark.parametrize("length", [0, 1, 2, 3, 7, 20])
def test_examples_are_all_pairs_within_the_window_once_each(window, length):
    wanted = {(i, j) for i, j in itertools.permutations(range(length), 2) if abs(i - j) <= window}
    n = int(n_examples(np.array([length]), window)[0])
    assert n == len(wanted)
    assert set(zip(*(a.tolist() for a in pairs(np.arange(n), length)), strict=True)) == wanted


@pytest.mark.parametrize("by_document", [True, False])
def test_records_have_the_examples_of_the_words_that_are_known(by_document):
    documents = corpus()
    records = records_of(documents, by_document=by_document, most=10_000)
    wanted = []
    for words in documents:
        known = [WORDS.index(word) for word in words if word in WORDS]
        for i, j in itertools.permutations(range(len(known)), 2):
            if abs(i - j) <= 2:
                wanted.append((known[i], known[j]))
    found = []
    for record in range(records.n_records):
        targets, contexts, negatives = records.examples(record, KEY)
        assert negatives.shape == (len(targets), 3)
        assert by_document or len(targets) == 1
        found += zip(targets.tolist(), contexts.tolist(), strict=True)
    assert sorted(found) == sorted(wanted)


def test_long_documents_show_so_many_different_examples_and_others_in_another_step():
    words = tuple(f"w{i}" for i in range(40))
    records = records_of([list(words)], most=11, words=words, window=3)

    def chosen(key):
        targets, contexts, _ = records.examples(0, np.uint64(key))
        return set(zip(targets.tolist(), contexts.tolist(), strict=True))

    assert len(chosen(1)) == len(chosen(2)) == 11
    assert chosen(1) != chosen(2)
    often = sum(len(chosen(key) & {(0, 1)}) for key in range(2000))
    assert abs(often - 2000 * 11 / 228) < 5 * np.sqrt(2000 * 11 / 228)


def test_the_law_of_negatives_is_counts_to_a_power_and_all_alike_without_counts():
    counts = np.array([1.0, 2.0, 50.0, 3.0, 1000.0])
    law = NegativeLaw.of(Vocabulary.of(dict(zip("abcde", counts, strict=True))), 0.75)
    np.testing.assert_allclose(law.probabilities, counts**0.75 / (counts**0.75).sum(), rtol=1e-12)
    noisy = Vocabulary(("a", "b"), (-40.0, 1.0))
    np.testing.assert_allclose(NegativeLaw.of(noisy, 0.75).probabilities, 0.5)
    alike = NegativeLaw.of(Vocabulary.of(list("abcdefg")), 0.75)
    np.testing.assert_allclose(alike.probabilities, 1 / 7)
    drawn = law.draw(mixed(np.arange(200_000, dtype=np.uint64)))
    expected = 200_000 * law.probabilities
    assert chisquare(np.bincount(drawn, minlength=5), expected).pvalue > 1e-6


def test_random_choices_depend_on_no_other_record_and_differ_between_records_and_steps():
    documents = corpus(seed=1)
    whole, part = records_of(documents), records_of(documents[2:])
    for record in range(2, 6):
        for one, other in zip(
            whole.examples(record, KEY), part.examples(record - 2, KEY), strict=True
        ):
            assert np.array_equal(one, other)
    long = whole.examples(5, KEY)[2]
    assert not np.array_equal(long, whole.examples(5, np.uint64(4))[2])
    assert not np.array_equal(long[:5], whole.examples(4, KEY)[2][:5])
    examples = records_of(documents, by_document=False)
    assert not np.array_equal(examples.examples(7, KEY)[2], examples.examples(8, KEY)[2])


def test_negatives_of_all_records_together_have_their_law():
    records = records_of(corpus((40,) * 60), most=50)
    drawn = np.concatenate([records.examples(i, KEY)[2].ravel() for i in range(60)])
    assert len(drawn) == 60 * 50 * 3
    expected = len(drawn) * records.law.probabilities
    assert chisquare(np.bincount(drawn, minlength=12), expected).pvalue > 1e-6


def test_hashes_are_evenly_spread():
    words = mixed(np.arange(100_000, dtype=np.uint64))
    assert len(np.unique(words)) == 100_000
    assert chisquare(np.bincount(below(words, np.uint64(100)).astype(int))).pvalue > 1e-6


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("by_document", [True, False])
def test_gradients_are_the_derivatives_of_the_loss(route, by_document):
    records = records_of(corpus(), by_document=by_document)
    gradients, table = gradients_of(records, route=route), table_of()
    for record in range(0, records.n_records, 1 if by_document else 7):
        examples = records.examples(record, gradients._key)
        found = gradients.clipped_sum(
            table.ravel() / 0.5, 0.5, np.array([record]), max_norm=1e6, grid=GRID
        ).toarray()
        np.testing.assert_allclose(found, brute_gradient(table, examples), atol=1e-7)


@pytest.mark.parametrize("by_document", [True, False])
def test_both_routes_agree_on_every_sum(by_document):
    records = records_of(corpus((0, 4, 60, 2, 33)), by_document=by_document)
    compiled, plain = (gradients_of(records, route=route) for route in ROUTES)
    assert type(compiled._route).__name__ == "CompiledRoute"
    values = table_of().ravel()
    selected = np.array([0, 2, 3, 7, 20, 21, 30, 35])
    for step, max_norm in itertools.product((0, 1), (0.05, 3.0, 1e6)):
        rows = np.arange(0, records.n_records, 2)
        how = {"max_norm": max_norm, "grid": GRID}
        for gradients in (compiled, plain):
            gradients.begin(step)
        for name in ("clipped_sum", "row_scores", "restricted_sum"):
            extra = (selected,) if name == "restricted_sum" else ()
            one, other = (
                getattr(g, name)(values, 0.7, rows, *extra, **how) for g in (compiled, plain)
            )
            if name != "restricted_sum":
                one, other = one.toarray(), other.toarray()
            np.testing.assert_allclose(one, other, rtol=0, atol=4 * len(rows) * GRID)
        for name in ("contribution_map", "row_map"):
            assert getattr(compiled, name)(rows, **how) == getattr(plain, name)(rows, **how)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("by_document", [True, False])
def test_a_record_moves_each_sum_by_its_norm_at_most_and_attains_it(route, by_document):
    documents = corpus((6, 4, 9, 1, 2))
    documents[0] = ["w0"] * 6  # its words are all the same, and nobody else's
    documents[1:] = [[w for w in words if w != "w0"] for words in documents[1:]]
    records = records_of(documents, by_document=by_document)
    gradients, values = gradients_of(records, route=route), table_of(scale=3.0).ravel()
    rows = np.arange(records.n_records)
    selected, grid = np.arange(0, 36, 2), 2.0**-20
    for norm in (0.5, 7.0):
        how, largest = {"max_norm": norm, "grid": grid}, []
        for record in range(min(records.n_records, 4)):
            rest = rows[rows != record]
            for name, extra in (
                ("clipped_sum", ()),
                ("row_scores", ()),
                ("restricted_sum", (selected,)),
            ):
                whole, without = (
                    getattr(gradients, name)(values, 1.0, some, *extra, **how)
                    for some in (rows, rest)
                )
                moved = _dense(whole) - _dense(without)
                assert np.sqrt((moved**2).sum()) <= norm
                if name == "clipped_sum":
                    largest.append(np.sqrt((moved**2).sum()) / norm)
            for name in ("contribution_map", "row_map"):
                whole, without = (getattr(gradients, name)(some, **how) for some in (rows, rest))
                assert np.sqrt(((_dense(whole) - _dense(without)) ** 2).sum()) <= norm
        if norm < 7:
            assert max(largest) > 0.99


def _dense(total):
    return total if isinstance(total, np.ndarray) else total.toarray()


@pytest.mark.parametrize("route", ROUTES)
def test_sums_do_not_depend_on_the_order_and_records_not_on_each_other(route):
    records = records_of(corpus((30, 4, 12, 9, 8, 17)))
    gradients, values = gradients_of(records, route=route), table_of().ravel()
    how = {"max_norm": 0.7, "grid": 2.0**-20}
    forward, backward = (
        gradients.clipped_sum(values, 1.0, np.arange(6)[::step], **how) for step in (1, -1)
    )
    assert forward == backward
    one_by_one = sum(
        gradients.clipped_sum(values, 1.0, np.array([i]), **how).toarray() for i in range(6)
    )
    assert np.array_equal(forward.toarray(), one_by_one)
    assert np.array_equal(one_by_one / how["grid"], np.rint(one_by_one / how["grid"]))


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1e200, 1e-300])
def test_what_is_not_finite_counts_as_nothing_and_the_rest_as_ever(route, value):
    documents = [["w0", "w1"], ["w2", "w3", "w4"]]
    records = records_of(documents, negatives=1)
    gradients, table = gradients_of(records, route=route), table_of()
    table[0] = value
    how = {"max_norm": 1.0, "grid": 2.0**-20}
    found = gradients.clipped_sum(table.ravel(), 1.0, np.array([0]), **how).toarray()
    assert np.isfinite(found).all()
    assert np.sqrt((found**2).sum()) <= 1
    assert np.isfinite(gradients.row_scores(table.ravel(), 1.0, np.arange(2), **how).values).all()
    part = gradients.restricted_sum(table.ravel(), 1.0, np.arange(2), np.arange(6), **how)
    assert np.isfinite(part).all()


@pytest.mark.parametrize("route", ROUTES)
def test_empty_batches_documents_and_rows_that_do_not_exist(route):
    records = records_of([[], ["other"], ["w0"], ["w0", "w1"]])
    gradients, values = gradients_of(records, route=route), table_of().ravel()
    how = {"max_norm": 1.0, "grid": 2.0**-20}
    for rows in ([], [0], [1], [0, 1, 2]):
        rows = np.array(rows, dtype=np.int64)
        assert not gradients.clipped_sum(values, 1.0, rows, **how).indices.size
        assert not gradients.row_map(rows, **how).indices.size
        assert not gradients.restricted_sum(values, 1.0, rows, np.array([3]), **how).any()
    for rows in ([-1], [4]):
        with pytest.raises(IndexError, match="rows must be"):
            gradients.clipped_sum(values, 1.0, np.array(rows), **how)
    after = gradients.clipped_sum(values, 1.0, np.array([3]), **how)
    assert len(after.indices) > 0
    with pytest.raises(ValueError, match="increase strictly"):
        gradients.restricted_sum(values, 1.0, np.array([3]), np.array([5, 5]), **how)
    with pytest.raises(ValueError, match="power of two"):
        gradients.clipped_sum(values, 1.0, np.array([3]), max_norm=1.0, grid=0.3)


def test_the_norm_of_row_scores_leaves_room_for_rounding():
    records = records_of(corpus())
    gradients, values = gradients_of(records, most_records=10), table_of().ravel()
    coarse = 2.0**-6
    with pytest.raises(ValueError, match="lost in rounding"):
        gradients.row_scores(values, 1.0, np.arange(3), max_norm=coarse, grid=coarse)
    scores = gradients.row_scores(values, 1.0, np.arange(6), max_norm=1.0, grid=2.0**-12)
    assert np.array_equal(scores.values * 2**12, np.rint(scores.values * 2**12))


def test_more_words_than_fit_into_memory_go_to_a_file(monkeypatch):
    documents, places = corpus((30, 0, 50)), {word: i for i, word in enumerate(WORDS)}
    whole = encoded(documents, places)
    monkeypatch.setattr("skdp.embedding.encoding.LARGEST_IN_MEMORY", 7)
    mapped = encoded(iter(documents), places)
    assert isinstance(mapped.places, np.memmap)
    assert np.array_equal(mapped.places, whole.places)
    assert np.array_equal(mapped.starts, whole.starts)
    how = {"max_norm": 1.0, "grid": 2.0**-20}
    of_file = gradients_of(records_of(documents))
    monkeypatch.undo()
    of_memory = gradients_of(records_of(documents))
    one, other = (
        gradients.clipped_sum(table_of().ravel(), 1.0, ROWS, **how)
        for gradients in (of_file, of_memory)
    )
    assert one == other


def test_the_choice_among_more_examples_than_64_bits_multiply_is_one_of_each_part():
    records = records_of([["a"]], most=1000)
    records.firsts = np.array([0, 2**61 + 12345])
    _, chosen = records._chosen(0, np.uint64(3))
    edges = [j * (2**61 + 12345) // 1000 for j in range(1001)]
    parts = itertools.pairwise(edges)
    assert all(a <= c < b for c, (a, b) in zip(chosen.tolist(), parts, strict=True))
