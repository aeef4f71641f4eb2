"""Each step of the list treats a row in the same way whatever the other rows hold."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import AdditiveChi2Sampler, PolynomialCountSketch, RBFSampler
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
)
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection

from skdp.exceptions import LeakyPipelineError
from skdp.pipeline import RowByRow, check_private_pipeline
from skdp.pipeline.data_independent import DATA_INDEPENDENT
from skdp.preprocessing import PublicRangeScaler, RowNormClipper

NUMBERS = np.array([[0.2, 3.0], [0.7, 1.0], [0.5, 2.0]])
OTHERS = np.array([[0.2, 3.0], [90.0, 0.0], [0.0, 0.0]])
HOLES = np.array([[0.2, np.nan], [0.7, 1.0], [0.5, 2.0]])
EMPTY = np.array([[0.2, np.nan], [np.nan, np.nan], [0.1, np.nan]])
WORDS = np.array([["a", "x"], ["b", "y"], ["a", "y"]], dtype=object)
STRANGE = np.array([["a", "x"], ["unheard of", "z"], ["q", "x"]], dtype=object)
LETTERS = [["a", "b"], ["x", "y"]]
TEXTS, OTHER_TEXTS = ["he is ill", "well", "so"], ["he is ill", "", "of a rare disease"]


def cosines(X):
    return np.cos(X)


#: (step, rows, other rows with the same first one)
STEPS = [
    (PublicRangeScaler((0.0, 5.0)), NUMBERS, OTHERS),
    (RowNormClipper(), NUMBERS, OTHERS),
    (Normalizer(), NUMBERS, OTHERS),
    (Binarizer(threshold=0.5), NUMBERS, OTHERS),
    (PolynomialFeatures(2), NUMBERS, OTHERS),
    (
        SplineTransformer(
            knots=np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]]), extrapolation="constant"
        ),
        NUMBERS,
        OTHERS,
    ),
    (OneHotEncoder(categories=LETTERS, handle_unknown="ignore"), WORDS, STRANGE),
    (
        OneHotEncoder(categories=LETTERS, handle_unknown="ignore", sparse_output=False),
        WORDS,
        STRANGE,
    ),
    (
        OrdinalEncoder(categories=LETTERS, handle_unknown="use_encoded_value", unknown_value=-1),
        WORDS,
        STRANGE,
    ),
    (FunctionTransformer(), NUMBERS, OTHERS),
    (FunctionTransformer(np.log1p), NUMBERS, OTHERS),
    (FunctionTransformer(RowByRow(cosines)), NUMBERS, OTHERS),
    (
        SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True),
        HOLES,
        EMPTY,
    ),
    (MissingIndicator(features="all"), HOLES, EMPTY),
    (HashingVectorizer(n_features=16), TEXTS, OTHER_TEXTS),
    (
        FeatureHasher(n_features=8, input_type="string"),
        [["a", "b"], ["c"], ["d"]],
        [["a", "b"], [], ["e", "f"]],
    ),
    (AdditiveChi2Sampler(), NUMBERS, OTHERS),
    (GaussianRandomProjection(2, random_state=0), NUMBERS, OTHERS),
    (SparseRandomProjection(2, random_state=0), NUMBERS, OTHERS),
    (RBFSampler(gamma=0.5, n_components=4, random_state=0), NUMBERS, OTHERS),
    (PolynomialCountSketch(n_components=4, random_state=0), NUMBERS, OTHERS),
]


def dense(rows):
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)


def differs(step, rows, others):
    """Say how the outcome for the first row depends on the others."""
    first, second = (step.fit_transform(given) for given in (rows, others))
    if sparse.issparse(first) != sparse.issparse(second):
        return "storage"
    if first.shape != second.shape or first.dtype != second.dtype:
        return "shape"
    return None if np.array_equal(dense(first)[0], dense(second)[0]) else "values"


@pytest.mark.parametrize(("step", "rows", "others"), STEPS, ids=map(str, range(len(STEPS))))
def test_an_accepted_step_treats_a_row_in_the_same_way_whatever_the_others_hold(step, rows, others):
    assert check_private_pipeline(step).steps[0].kind in ("data-independent", "vouched for")
    assert differs(step, rows, others) is None


def test_every_class_of_the_list_is_tried():
    assert {type(step) for step, _, _ in STEPS} == set(DATA_INDEPENDENT)


LEAKY = [
    (StandardScaler(), NUMBERS, OTHERS, "PrivateStandardScaler"),
    (MinMaxScaler(), NUMBERS, OTHERS, "PublicRangeScaler"),
    (OneHotEncoder(handle_unknown="ignore"), WORDS, STRANGE, "categories"),
    (SimpleImputer(strategy="constant", fill_value=0.0), HOLES, EMPTY, "keep_empty_features=True"),
    (SimpleImputer(), HOLES, EMPTY, "strategy='constant'"),
    (MissingIndicator(), HOLES, EMPTY, "features='all'"),
    (FunctionTransformer(lambda X: X - X.min(axis=0)), NUMBERS, OTHERS, "RowByRow"),
    (
        ColumnTransformer(
            [("all", FunctionTransformer(RowByRow(sparse.csr_array)), [0, 1])],
            sparse_threshold=0.6,
        ),
        np.array([[0.0, 1.0], [1.0, 1.0]]),
        np.array([[0.0, 1.0], [0.0, 0.0]]),
        "sparse_threshold=0",
    ),
]


@pytest.mark.parametrize(
    ("step", "rows", "others", "instead"), LEAKY, ids=map(str, range(len(LEAKY)))
)
def test_a_step_that_leaks_is_refused_with_what_to_use_instead(step, rows, others, instead):
    with warnings.catch_warnings(action="ignore"):
        assert differs(step, rows, others) is not None
    with pytest.raises(LeakyPipelineError) as refused:
        check_private_pipeline(step)
    assert instead in refused.value.instead
    assert refused.value.step in str(refused.value)
