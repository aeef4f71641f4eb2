"""Steps that learn nothing from rows: by exact class, and by parameters.

A class that is not here is not known to be harmless, and a subclass of one that is here is another
class. For each the question is the same: do fitted attributes, the shape, storage and type of the
output, warnings and what is done with one row depend on nothing but parameters and the number,
names and types of the columns?
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, final

import numpy as np
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import AdditiveChi2Sampler, PolynomialCountSketch, RBFSampler
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    SplineTransformer,
)
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection

from skdp.pipeline.promises import RowByRow
from skdp.preprocessing import PublicRangeScaler, RowNormClipper

__all__ = ["DATA_INDEPENDENT", "Entry", "Problem"]


@final
@dataclass(frozen=True)
class Problem:
    """Why a step is refused with these parameters, and what to set instead."""

    why: str
    instead: str


Problems = Callable[[Any], Iterator[Problem]]


def _none(step: Any) -> Iterator[Problem]:
    yield from ()


def _never(step: Any) -> bool:
    return False


@final
@dataclass(frozen=True)
class Entry:
    """One class of the list.

    Attributes
    ----------
    reason : str
        Why it is harmless.
    problems : callable
        Yields what is wrong with a step's parameters.
    only_dense : callable
        Whether a step's output is dense whatever it is given; see the walk on column transformers.
    """

    reason: str
    problems: Problems = _none
    only_dense: Callable[[Any], bool] = _never


def _undeclared_categories(step: Any) -> Iterator[Problem]:
    if isinstance(step.categories, str):
        yield Problem(
            "with categories='auto' it learns which values occur, and one person may be the only "
            "one who has one",
            "declare them, categories=[[...], ...]",
        )
    if step.min_frequency is not None or step.max_categories is not None:
        yield Problem(
            "min_frequency and max_categories count rows without noise",
            "leave both at None",
        )


def _one_hot(step: Any) -> Iterator[Problem]:
    yield from _undeclared_categories(step)
    if step.handle_unknown != "ignore":
        yield Problem(
            f"handle_unknown={step.handle_unknown!r} raises or warns, and names the value, when a "
            "row holds an undeclared one",
            "set handle_unknown='ignore'",
        )
    if step.drop is not None:
        yield Problem(
            "with drop it warns when a row holds an undeclared value",
            "leave drop at None, or declare the categories without the one to drop",
        )


def _ordinal(step: Any) -> Iterator[Problem]:
    yield from _undeclared_categories(step)
    if step.handle_unknown != "use_encoded_value":
        yield Problem(
            "handle_unknown='error' raises, and names the value, when a row holds an undeclared "
            "one",
            "set handle_unknown='use_encoded_value' and unknown_value=-1",
        )


def _imputer(step: Any) -> Iterator[Problem]:
    if step.strategy != "constant":
        yield Problem(
            f"strategy={step.strategy!r} learns a statistic of the rows without noise",
            "set strategy='constant' with a declared fill_value and keep_empty_features=True, or "
            "use skdp.preprocessing.PrivateImputer",
        )
        return
    if step.fill_value is None:
        yield Problem(
            "what fill_value=None stands for depends on the type of the values",
            "declare a fill_value",
        )
    if not step.keep_empty_features:
        yield Problem(
            "without keep_empty_features, whether a column survives depends on whether one row "
            "has a value there",
            "set keep_empty_features=True",
        )
    if step.add_indicator:
        yield Problem(
            "add_indicator adds columns for those features alone that miss values in some row",
            "use MissingIndicator(features='all') beside it",
        )


def _missing_indicator(step: Any) -> Iterator[Problem]:
    if step.features != "all":
        yield Problem(
            "with features='missing-only' its columns depend on which features miss values",
            "set features='all'",
        )


def _function(step: Any) -> Iterator[Problem]:
    if not (step.func is None or _is_elementwise(step) or isinstance(step.func, RowByRow)):
        yield Problem(
            "a function may mix rows (subtract a mean, drop or sort rows), and nothing can check "
            "that it does not",
            "declare the promise: FunctionTransformer(skdp.pipeline.RowByRow(function)); "
            "functions of numpy that work element by element, such as numpy.log1p, need none",
        )
    if step.inverse_func is not None and step.check_inverse:
        yield Problem(
            "check_inverse=True warns when the inverse is wrong for some of the rows",
            "set check_inverse=False",
        )


def _is_elementwise(step: Any) -> bool:
    func = step.func
    if not isinstance(func, np.ufunc) or step.kw_args:
        return False
    # np.frompyfunc makes one of any function.
    of_numpy = vars(np).get(func.__name__) == func
    return of_numpy and (func.nin, func.nout) == (1, 1)


def _hashing(step: Any) -> Iterator[Problem]:
    if step.input != "content":
        yield Problem(
            f"input={step.input!r} reads files, which may change and are not rows",
            "set input='content'",
        )
    given = (step.analyzer, step.tokenizer, step.preprocessor, step.strip_accents)
    if any(callable(f) and not isinstance(f, RowByRow) for f in given):
        yield Problem(
            "a callable that prepares or splits texts may remember them",
            "declare the promise: skdp.pipeline.RowByRow(function)",
        )


def _spline(step: Any) -> Iterator[Problem]:
    if isinstance(step.knots, str):
        yield Problem(
            f"knots={step.knots!r} are extremes or quantiles of the rows",
            "declare the positions of the knots as an array",
        )
    if step.extrapolation == "error":
        yield Problem(
            "extrapolation='error' raises when a row lies outside of the knots",
            "set extrapolation='constant'",
        )


def _projection(step: Any) -> Iterator[Problem]:
    if not isinstance(step.n_components, Integral):
        yield Problem(
            "n_components='auto' follows from the number of rows, which may be private",
            "set a number",
        )


def _rbf(step: Any) -> Iterator[Problem]:
    if not isinstance(step.gamma, Real):
        yield Problem("gamma='scale' is a variance of the rows", "set a number")


def _dense_encoder(step: Any) -> bool:
    return not step.sparse_output


def _always(step: Any) -> bool:
    return True


_RANDOM = "Its random numbers are drawn without looking at rows, which each are mapped by itself."

#: Class to entry. Extend it together with tests/test_pipeline_steps.py.
DATA_INDEPENDENT: Mapping[type, Entry] = {
    PublicRangeScaler: Entry("Its ranges are declared.", only_dense=_always),
    RowNormClipper: Entry("Each row is scaled by its own norm."),
    Normalizer: Entry("Each row is divided by its own norm."),
    Binarizer: Entry("Each value is compared with a declared threshold."),
    PolynomialFeatures: Entry("Products of the values of a row; which ones follows from columns."),
    SplineTransformer: Entry("Its knots are declared.", _spline),
    OneHotEncoder: Entry("Its categories are declared.", _one_hot, _dense_encoder),
    OrdinalEncoder: Entry("Its categories are declared.", _ordinal, _always),
    FunctionTransformer: Entry("Its function is element by element, or none.", _function),
    SimpleImputer: Entry("It fills in a declared constant and keeps all columns.", _imputer),
    MissingIndicator: Entry("It marks missing values in all columns.", _missing_indicator),
    HashingVectorizer: Entry("A text is hashed by itself into declared columns.", _hashing),
    FeatureHasher: Entry("A row is hashed by itself into a declared number of columns."),
    AdditiveChi2Sampler: Entry("A fixed function of each value."),
    GaussianRandomProjection: Entry(_RANDOM, _projection),
    SparseRandomProjection: Entry(_RANDOM, _projection),
    RBFSampler: Entry(_RANDOM, _rbf),
    PolynomialCountSketch: Entry(_RANDOM),
}
