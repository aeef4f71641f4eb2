"""Records against plain matrix algebra; clipping against exact arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from skdp.records import (
    InMemoryRecords,
    blocks,
    canonical_rows,
    clip_rows,
    memory,
    score_terms,
    summation_terms,
)

FORMATS = {
    "c": np.ascontiguousarray,
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=0)[::2],
    "float32": lambda X: X.astype(np.float32),
    "csr": sparse.csr_array,
    "csr_matrix": sparse.csr_matrix,
    "csr32": lambda X: sparse.csr_array(X.astype(np.float32)),
}
each_format = pytest.mark.parametrize("stored", FORMATS)


@pytest.fixture(params=["one block", "many blocks"])
def block_sizes(request, monkeypatch):
    if request.param == "many blocks":
        monkeypatch.setattr(blocks, "DENSE_ROWS", (1, 7))
        monkeypatch.setattr(blocks, "SPARSE_ROWS", 11)
        monkeypatch.setattr(blocks, "PIECE", 2)


def plain_and_records(stored, constant, weighted):
    """Return the matrix with its constant column, the weights, and the records."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5)).astype(np.float32).astype(np.float64)
    X[rng.random(X.shape) < 0.4] = 0
    X[[3, 20, 39]] = 0
    weights = rng.random(40) * (rng.random(40) < 0.8) if weighted else None
    y = rng.choice([-1.0, 1.0], 40)
    records = InMemoryRecords(FORMATS[stored](X), y, weights, constant)
    full = X if constant is None else np.column_stack((X, np.full(40, constant)))
    return full, np.ones(40) if weights is None else weights, records


@each_format
@pytest.mark.parametrize("constant", [None, 0.5])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.usefixtures("block_sizes")
def test_every_sum_agrees_with_plain_matrix_algebra(stored, constant, weighted):
    X, weights, records = plain_and_records(stored, constant, weighted)
    rng = np.random.default_rng(1)
    close = {"rtol": 1e-12, "atol": 1e-12}
    assert (records.n_samples, records.n_features, records.n_columns) == (40, 5, X.shape[1])
    for n_outputs in (1, 3):
        coef = rng.normal(size=(n_outputs, X.shape[1]))
        scores = (X @ coef.T)[:, 0] if n_outputs == 1 else X @ coef.T
        np.testing.assert_allclose(records.scores(coef), scores, **close)
        residuals = rng.normal(size=scores.shape)
        sums = (residuals.reshape(40, -1) * weights[:, None]).T
        np.testing.assert_allclose(records.gradient_sum(residuals), sums @ X, **close)
        np.testing.assert_allclose(records.column_squares(residuals), sums @ X**2, **close)
    curvature = rng.random(40)
    gram = (X * (weights * curvature)[:, None]).T @ X
    np.testing.assert_allclose(records.weighted_gram(curvature), gram, **close)
    columns = np.array([0, 2, X.shape[1] - 1])
    part = records.weighted_gram(curvature, columns)
    np.testing.assert_allclose(part, gram[np.ix_(columns, columns)], **close)
    assert records.total(curvature) == pytest.approx(weights @ curvature)


@pytest.mark.parametrize("stored", ["c", "float32", "csr", "csr32"])
def test_records_neither_copy_nor_change_the_rows(stored):
    _, _, records = plain_and_records(stored, 1.0, weighted=False)
    X = FORMATS[stored](np.random.default_rng(2).normal(size=(9000, 3)))
    before = X.copy()
    records = InMemoryRecords(X, np.ones(9000), None, 1.0)
    records.gradient_sum(records.scores(np.ones((1, 4))))
    records.weighted_gram(np.ones(9000))
    assert abs(X - before).max() == 0
    held = records._blocks[-1]
    part, whole = (held._data, X.data) if sparse.issparse(X) else (held._stored, X)
    assert np.shares_memory(part, whole)


def test_sums_over_many_float32_rows_keep_float64_precision():
    rng = np.random.default_rng(3)
    X = rng.random((30_000, 2)).astype(np.float32)
    residuals = rng.normal(size=30_000)
    records = InMemoryRecords(X, np.ones(30_000))
    exact = math.fsum(X[:, 0].astype(np.float64) * residuals)
    size = math.fsum(abs(X[:, 0].astype(np.float64) * residuals))
    error = abs(records.gradient_sum(residuals)[0, 0] - exact)
    assert error <= (summation_terms(30_000, 2) + 1) * 2.0**-53 * size


def test_public_counts_of_additions_cover_the_blocks_in_use():
    for n_samples, n_features in [(1, 1), (50_000, 100), (10**6, 10**4), (3, 10**6)]:
        for X in (
            np.broadcast_to(np.float32(0), (n_samples, n_features)),
            sparse.csr_array((n_samples, n_features), dtype=np.float64),
        ):
            cut = blocks.blocks_of(X)
            longest = max(block.rows.stop - block.rows.start for block in cut)
            assert longest + len(cut) <= summation_terms(n_samples, n_features) + 1
    assert score_terms(100) == 102
    assert score_terms(10**6) == blocks.PIECE + 245 + 1


def test_long_sparse_rows_are_summed_piece_by_piece():
    rng = np.random.default_rng(4)
    n_features = 3 * blocks.PIECE + 5
    X = np.zeros((4, n_features))
    X[0] = rng.normal(size=n_features)
    X[2, : blocks.PIECE] = 1.0
    X[3, ::7] = 2.0
    coef = rng.normal(size=(2, n_features))
    records = InMemoryRecords(sparse.csr_array(X), np.ones(4))
    np.testing.assert_allclose(records.scores(coef), X @ coef.T, atol=1e-11)
    np.testing.assert_allclose(records.scores(coef[:1]), X @ coef[0], atol=1e-11)
    assert len(records._blocks[0]._pieces.indptr) - 1 == 4 + 1 + 1 + 1 + 0


def test_records_show_no_data():
    records = InMemoryRecords(np.full((2, 3), 123.0), np.ones(2))
    assert repr(records) == "InMemoryRecords(n_samples=2, n_features=3)"


def exact_square(row):
    return sum(Fraction(float(value)) ** 2 for value in row)


def as_dense(X):
    return X.toarray() if sparse.issparse(X) else X


finite = st.floats(allow_nan=False, allow_infinity=False)
tables = hnp.arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 6)), elements=finite)
norms = st.floats(1e-30, 1e30)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(X=tables, row_norm=norms, narrow=st.booleans(), in_csr=st.booleans())
def test_clipped_rows_keep_the_norm_in_exact_arithmetic(X, row_norm, narrow, in_csr):
    if narrow:
        X = np.clip(X, -3e38, 3e38).astype(np.float32)
    clipped = as_dense(clip_rows(sparse.csr_array(X) if in_csr else X, row_norm))
    assert clipped.dtype == X.dtype
    for before, after in zip(X, clipped, strict=True):
        square, bound = exact_square(before), Fraction(row_norm) ** 2
        assert exact_square(after) <= bound
        if square <= bound * Fraction(1 - 2**-30):
            np.testing.assert_array_equal(after, before)
        elif square > 0:
            slack = Fraction(1 - 2**-17) if narrow else Fraction(1 - 2**-37)
            assert exact_square(after) >= bound * slack
            direction = np.sign(before) * np.sign(after)
            assert (direction >= 0).all()


@settings(max_examples=50, deadline=None, derandomize=True)
@given(X=tables, row_norm=norms)
def test_clipping_twice_changes_nothing(X, row_norm):
    once = clip_rows(X, row_norm)
    np.testing.assert_array_equal(clip_rows(once, row_norm), once)


@pytest.mark.parametrize("stored", FORMATS)
def test_a_clipped_row_depends_on_that_row_alone_bit_for_bit(stored):
    rng = np.random.default_rng(5)
    for n_features in (1, 2, 9, 130, 1000):
        X = rng.normal(size=(60, n_features)) * rng.random((60, 1)) * 3
        whole = as_dense(clip_rows(FORMATS[stored](X), 1.0))
        for chosen in ([7], [59, 3], list(range(0, 60, 3))):
            part = as_dense(clip_rows(FORMATS[stored](X[chosen]), 1.0))
            np.testing.assert_array_equal(part, whole[chosen])


@each_format
def test_clipping_returns_a_new_array_of_the_same_kind(stored):
    X = FORMATS[stored](np.random.default_rng(6).normal(size=(6, 4)))
    before = X.copy()
    clipped = clip_rows(X, 0.5)
    assert type(clipped) is type(X)
    assert abs(X - before).max() == 0
    pairs = [(clipped.data, X.data)] if sparse.issparse(X) else [(clipped, X)]
    assert not any(np.shares_memory(new, old) for new, old in pairs)
    assert clip_rows(X, 1e6) is not X


def test_zero_rows_and_empty_sparse_rows_stay_zero():
    X = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, -0.0]])
    np.testing.assert_allclose(clip_rows(X, 1.0), [[0, 0], [0.6, 0.8], [0, 0]])
    clipped = clip_rows(sparse.csr_matrix(X), 1.0)
    assert clipped.nnz == 2
    assert clip_rows(sparse.csr_array((3, 4)), 1.0).nnz == 0


def test_values_of_any_size_are_clipped_without_overflow():
    X = np.array([[1e300, -1e300], [1.7e308, 1.7e308], [5e-324, 0.0], [1e-310, 1e308]])
    half = math.sqrt(0.5)
    expected = [[half, -half], [half, half], [5e-324, 0.0], [0.0, 1.0]]
    np.testing.assert_allclose(clip_rows(X, 1.0), expected, rtol=1e-11)
    np.testing.assert_allclose(clip_rows(X, 1e-30)[:2], 1e-30 * np.array(expected[:2]), rtol=1e-11)


def test_duplicate_entries_of_a_sparse_row_count_as_their_sum():
    X = sparse.csr_array((np.ones(4), np.array([1, 1, 0, 1]), np.array([0, 2, 4])), shape=(2, 2))
    clipped = clip_rows(X, 1.0)
    half = math.sqrt(0.5)
    np.testing.assert_allclose(clipped.toarray(), [[0, 1], [half, half]])
    assert X.nnz == 4
    huge = sparse.csr_array((np.full(2, 1.7e308), np.array([0, 0]), np.array([0, 2])), shape=(1, 1))
    np.testing.assert_allclose(clip_rows(huge, 1.0).toarray(), [[1.0]])


def test_no_other_row_decides_in_which_order_duplicate_entries_are_summed():
    rng = np.random.default_rng(0)
    # Sorted by column, and long enough for an unstable sort to move equal columns.
    entries = rng.permuted(np.tile([1e17, -1e17, 1.0, 1.0], (50, 5)), axis=1)
    for order in ([0, 1], [1, 0]):
        indices = np.concatenate([order, np.zeros(entries.size, dtype=int)])
        indptr = np.concatenate([[0], 2 + 20 * np.arange(51)])
        data = np.concatenate([[0.5, 0.5], entries.ravel()])
        X = sparse.csr_array((data, indices, indptr), shape=(51, 2))
        clipped = clip_rows(X, 1.0)
        alone = [clip_rows(X[[i]], 1.0).toarray()[0] for i in range(51)]
        np.testing.assert_array_equal(clipped.toarray(), alone)
        if order == [0, 1]:
            first = clipped.toarray()
    np.testing.assert_array_equal(clipped.toarray(), first)


def test_clipping_treats_long_tables_in_runs(monkeypatch):
    X = np.random.default_rng(7).normal(size=(50, 6))
    X[X < 0.3] = 0
    whole, in_csr = clip_rows(X, 0.7), clip_rows(sparse.csr_array(X), 0.7).toarray()
    monkeypatch.setattr("skdp.records.clipping.ELEMENTS", 13)
    np.testing.assert_array_equal(clip_rows(X, 0.7), whole)
    np.testing.assert_array_equal(clip_rows(sparse.csr_array(X), 0.7).toarray(), in_csr)
    np.testing.assert_allclose(in_csr, whole, rtol=1e-15)


@pytest.mark.parametrize("row_norm", [0.0, -1.0, math.nan, math.inf, 1e-31, 1e31, "1", True])
def test_row_norm_must_lie_in_its_range(row_norm):
    with pytest.raises(ValueError, match="row_norm must be between"):
        clip_rows(np.ones((2, 2)), row_norm)


def test_the_gram_limit_follows_the_shape():
    wide, long = np.ones((10, 5)), np.ones((5000, 5))
    y = np.ones(5000)
    assert InMemoryRecords(wide, y[:10]).gram_limit == 300
    assert InMemoryRecords(long, y).gram_limit == 1500
    thin = sparse.csr_array(np.eye(5000, 8))
    assert InMemoryRecords(thin, y).gram_limit < 300
    assert memory.DENSE_ROWS[0] <= memory.DENSE_ROWS[1]


def test_shared_index_arrays_are_those_of_a_canonical_matrix_and_of_no_other():
    X = sparse.csr_array(np.array([[3.0, 4.0, 0.0], [0.0, 0.3, 0.4]]))
    shared = clip_rows(X, 1.0, share_index=True)
    assert np.shares_memory(shared.indices, X.indices)
    assert not np.shares_memory(shared.data, X.data)
    assert not np.shares_memory(clip_rows(X, 1.0).indices, X.indices)
    np.testing.assert_array_equal(shared.toarray(), clip_rows(X, 1.0).toarray())
    unsorted = sparse.csr_array((np.ones(2), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    before = unsorted.indices.copy()
    clip_rows(unsorted, 1.0, share_index=True)
    np.testing.assert_array_equal(unsorted.indices, before)


def edited_in_place():
    """Rows whose columns were hashed in place: duplicates that scipy does not know of."""
    rows = sparse.random(40, 4000, density=0.2, format="csr", random_state=0)
    rows.sum_duplicates()
    rows.data[:] = 1.0
    rows.indices %= 5
    assert rows.has_canonical_format  # it is wrong
    return rows


def test_what_scipy_remembers_of_edited_indices_is_not_believed():
    rows = edited_in_place()
    clipped = clip_rows(rows, 1.0)
    assert np.linalg.norm(clipped.toarray(), axis=1).max() <= 1.0
    canonical = canonical_rows(rows)
    np.testing.assert_array_equal(canonical.toarray(), rows.toarray())
    assert canonical.nnz == np.count_nonzero(rows.toarray())
