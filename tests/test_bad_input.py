"""What is refused: with a clear message, without quoting the data, before anything is spent."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from skdp.preprocessing import RowNormClipper
from tests.support.refusals import (
    ALL,
    CLASSIFIER,
    NAMES,
    SECRET_DIGITS,
    SECRET_NUMBER,
    SECRET_TEXT,
    WEIGHTED,
    N,
    X,
    refuses,
    refuses_to_fit,
    y,
)

CONTAINERS = {
    "dense": np.asarray,
    "float32": np.float32,
    "Fortran": np.asfortranarray,
    "CSR": sparse.csr_matrix,
    "CSC": sparse.csc_array,
    "COO": sparse.coo_array,
    "pandas": lambda rows: pd.DataFrame(rows, columns=NAMES),
    "polars": lambda rows: pl.DataFrame(rows, schema=NAMES),
    "lists": np.ndarray.tolist,
}


class Loud:
    """A cell that tells its secret where it is asked for a number."""

    def __init__(self, error):
        self.error = error

    def __float__(self):
        raise self.error(SECRET_TEXT)


def with_cell(value, dtype=np.float64):
    rows = X.astype(dtype)
    rows[3, 1] = value
    return rows


def with_column(values, dtype=None):
    return pd.DataFrame(X, columns=NAMES).assign(b=pd.Series(list(values), dtype=dtype))


def polars_column(values, dtype=None):
    return pl.DataFrame({"a": X[:, 0], "b": pl.Series(list(values), dtype=dtype, strict=False)})


# ------------------------------------------------------------------------------------- the rows


@ALL
@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize(
    ("value", "match"),
    [
        (np.nan, r"Input X contains NaN\. Fill or drop missing values first"),
        (np.inf, r"Input X contains infinity .* Clip values to a declared range"),
        (-np.inf, r"Input X contains infinity"),
    ],
)
def test_missing_and_infinite_values_are_refused_in_fit_and_predict(
    estimator, container, value, match
):
    rows = container(with_cell(value))
    refuses_to_fit(estimator, rows, y, match=match)
    fitted = clone(estimator).fit(container(X), y)
    refuses(lambda: fitted.predict(rows), match)


NOT_NUMBERS = "X could not be read as numbers.*declared categories"
WORDS = [SECRET_TEXT, "other"] * (N // 2)
DIGITS = ["1.5", SECRET_DIGITS] * (N // 2)
DATES = [datetime.datetime(2020, 1, 1)] * N
NOT_NUMERIC = {
    "words": np.array([WORDS]).T,
    "numbers as text": np.array([DIGITS]).T,
    "numbers as variable-width text": np.array([DIGITS], dtype=np.dtypes.StringDType()).T,
    "bytes": np.array([DIGITS], dtype="S").T,
    "objects with a word": with_cell(SECRET_TEXT, object),
    "objects with a number as text": with_cell(SECRET_DIGITS, object),
    "lists with a word": with_cell(SECRET_TEXT, object).tolist(),
    "dates": np.array([DATES], dtype="datetime64[D]").T,
    "durations": np.array([[1] * N], dtype="timedelta64[s]").T,
    "records": np.array([(1, SECRET_NUMBER)] * N, dtype=[("a", int), ("b", float)]),
    "lists of different lengths": [[1.0, SECRET_NUMBER], [2.0]] * (N // 2),
    "pandas words": with_column(WORDS),
    "pandas object words": with_column(WORDS, object),
    "pandas object numbers": with_column([SECRET_NUMBER] * N, object),
    "pandas numbers as text": with_column(DIGITS),
    "pandas category": with_column(WORDS, "category"),
    "pandas category of numbers": with_column([int(SECRET_DIGITS), 1] * (N // 2), "category"),
    "pandas dates": with_column(DATES),
    "pandas dates only": with_column(DATES)[["b"]],
    "polars words": polars_column(WORDS),
    "polars numbers as text": polars_column(DIGITS),
    "polars categories": polars_column(WORDS, pl.Categorical),
    "polars enumeration": polars_column(WORDS, pl.Enum([SECRET_TEXT, "other"])),
    "polars dates": polars_column(DATES),
    "polars objects": polars_column([object()] * N, pl.Object),
    "polars lists": polars_column([[SECRET_NUMBER]] * N),
}
MISSING = "Input X contains NaN"
INADMISSIBLE_ROWS = {
    **{name: (rows, NOT_NUMBERS) for name, rows in NOT_NUMERIC.items()},
    "None among objects": (with_cell(None, object), MISSING),
    "pandas integers with a gap": (with_column([1, None] * (N // 2), "Int64"), MISSING),
    "pandas booleans with a gap": (with_column([True, None] * (N // 2), "boolean"), MISSING),
    "pandas floats with a gap": (with_column([SECRET_NUMBER, None] * (N // 2), "Float64"), MISSING),
    "polars numbers with a gap": (polars_column([SECRET_NUMBER, None] * (N // 2)), MISSING),
    "a dict among objects": (with_cell({"a": SECRET_TEXT}, object), "an object that is neither"),
    "an object that raises a TypeError": (with_cell(Loud(TypeError), object), NOT_NUMBERS),
    "an object that raises a ValueError": (with_cell(Loud(ValueError), object), NOT_NUMBERS),
    "an object that raises anything": (with_cell(Loud(RuntimeError), object), NOT_NUMBERS),
    "an integer beyond float64": (with_cell(int(SECRET_DIGITS) * 10**400, object), "too large"),
    "a long double beyond float64": (X.astype(np.longdouble) * np.longdouble("1e4000"), "infinity"),
    "complex": (X * 1j, r"Complex data not supported\."),
    "complex objects": (with_cell(1j * SECRET_NUMBER, object), "an object that is neither"),
    "complex CSR": (sparse.csr_matrix(X * 1j), "Complex data not supported"),
    "masked": (np.ma.masked_greater(X, 10), r"masked array.*filled"),
    "masked without a masked entry": (np.ma.masked_array(X), r"masked array.*filled"),
    "one dimension": (X[:, 0], r"Expected a 2-D array.*Reshape"),
    "three dimensions": (X[:, :, None], "dim 3"),
    "a number": (SECRET_NUMBER, "Expected a 2-D array"),
    "nothing": (None, "Expected a 2-D array"),
    "a pandas column": (pd.Series(X[:, 0]), "Expected a 2-dimensional container"),
    "a word": (SECRET_TEXT, NOT_NUMBERS),
    "a dict": ({"a": [SECRET_NUMBER]}, "an object that is neither"),
    "no columns": (X[:, :0], "0 feature"),
    "a lazy frame": (pl.DataFrame(X).lazy(), r"lazy frame.*collect\(\)"),
    "names of several types": (pd.DataFrame(X, columns=["a", 1, "c"]), "names"),
    "a name twice": (pd.DataFrame(X, columns=["a", "a", "c"]), "same name"),
}  # fmt: skip


@ALL
@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize(
    ("rows", "match"), INADMISSIBLE_ROWS.values(), ids=INADMISSIBLE_ROWS.keys()
)
def test_what_is_no_table_of_numbers_is_refused_in_fit_and_predict(estimator, rows, match):
    refuses_to_fit(estimator, rows, y, match=match)
    fitted = clone(estimator).fit(X, y)
    refuses(lambda: fitted.predict(rows), match)


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_a_matrix_of_numpy_is_refused():
    refuses_to_fit(CLASSIFIER, np.asmatrix(X), y, match="np.matrix is not supported.*np.asarray")


def test_an_arrow_table_with_numbers_as_text_is_refused():
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    refuses_to_fit(CLASSIFIER, arrow.table({"a": DIGITS}), y, match=NOT_NUMBERS)


@pytest.mark.parametrize("rows", [with_cell(np.nan), *list(NOT_NUMERIC.values())[:6]])
def test_the_clipper_refuses_what_the_models_refuse(rows):
    refuses(lambda: RowNormClipper().fit(rows), "X")


def broken_csr(index):
    rows = sparse.csr_array(X)
    rows.indices = rows.indices.copy()
    rows.indices[1] = index
    return rows


@ALL
@pytest.mark.parametrize(
    "rows", [broken_csr(3), broken_csr(-1), broken_csr(2**30), broken_csr(77).T]
)
def test_a_sparse_matrix_that_points_out_of_itself_is_refused(estimator, rows):
    labels = np.resize(y, rows.shape[0])
    refuses_to_fit(estimator, rows, labels, match="indices do not fit its shape")


@ALL
@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_fewer_than_two_rows_are_refused(estimator, rows, container):
    refuses_to_fit(estimator, container(X[:rows]), y[:rows], match="minimum of 2 is required")


@WEIGHTED
def test_rows_labels_and_weights_of_different_length_are_refused(estimator):
    refuses_to_fit(estimator, X, y[:-1], match="inconsistent numbers of samples")
    refuses_to_fit(estimator, X, y, match=r"sample_weight\.shape", sample_weight=np.ones(N - 1))


@ALL
def test_the_columns_at_predict_must_be_those_of_fit(estimator):
    frame = pd.DataFrame(X, columns=NAMES)
    fitted = clone(estimator).fit(frame, y)
    refuses(lambda: fitted.predict(frame.rename(columns={"b": "z"})), "feature names should match")
    refuses(lambda: fitted.predict(frame[["c", "b", "a"]]), "must be in the same order")
    refuses(lambda: fitted.predict(frame[["a", "b"]]), "feature names should match")
    refuses(lambda: clone(estimator).fit(X, y).predict(X[:, :2]), "2 features.*expecting 3")


# ---------------------------------------------------------------------------- before and after


@ALL
def test_nothing_can_be_asked_of_a_model_whose_fit_was_refused(estimator):
    model = clone(estimator)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(with_cell(np.nan), y)
    asked = [name for name in ("predict", "get_support", "to_sklearn") if hasattr(model, name)]
    for method in (getattr(model, name) for name in asked):
        with pytest.raises(NotFittedError):
            method(*[X] * (method == model.predict))


@WEIGHTED
@pytest.mark.parametrize(
    ("rows", "labels", "weights"),
    [
        (with_column(WORDS), y, None),
        (pd.DataFrame(X[:, :2], columns=["u", "v"]), y[:-1], None),
        (X[:, :2], y, -np.ones(N)),
    ],
)
def test_a_refused_refit_leaves_the_model_as_it_was(estimator, rows, labels, weights):
    frame = pd.DataFrame(X, columns=NAMES)
    model = clone(estimator).fit(frame, y)
    before, predicted = vars(model).copy(), model.predict(frame)
    with pytest.raises(ValueError, match=r".+"):
        model.fit(rows, labels, sample_weight=weights)
    assert vars(model) == before
    assert np.array_equal(model.predict(frame), predicted)
