"""What is public of an estimator that is to be audited, as far as its parameters say."""

import math
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor

from skdp.audit.fits import call_fit, fresh
from skdp.privacy import Neighbours

__all__ = ["Facts", "has_no_constant", "labels_of", "reader", "relation_of"]

_UNBOUNDED_LABEL = 50.0
_TIMES_CLIP = 10.0


@final
@dataclass(frozen=True)
class Facts:
    """What is public of an estimator, as far as its parameters say.

    Attributes
    ----------
    kind : {"classifier", "regressor", "transformer", "model"}
        What is fitted; "model" where nothing says so.
    relation : Neighbours
        What its guarantee is about.
    row_norm : float
        Norm of the longest admissible row.
    labels : tuple of two
        The labels that pull hardest in opposite directions.
    bounds : tuple of two floats or None
        Range of the columns of a transformer.
    n_rows : int
        Rows of the data sets.
    """

    kind: str
    relation: Neighbours
    row_norm: float
    labels: tuple[Any, ...]
    bounds: tuple[float, float] | None
    n_rows: int

    @classmethod
    def of(cls, estimator: Any, relation: Any = None, n_rows: int = 10) -> "Facts":
        """Read the parameters, and, for the relation, a statement of skdp."""
        kind = _kind(estimator)
        norm = next(
            (v for v in map(reader(estimator), ("row_norm", "data_norm")) if _is_number(v)), 1.0
        )
        clip = reader(estimator)("max_grad_norm")
        if _is_number(clip):  # rows have no bound then, and a long one has a gradient of this norm
            norm = _TIMES_CLIP * clip
        bounds = reader(estimator)("bounds")
        if bounds is None:
            bounds = reader(estimator)("value_range")
        numbers = np.shape(bounds) == (2,) and all(map(_is_number, bounds))
        bounds = (float(bounds[0]), float(bounds[1])) if numbers else None
        labels = _labels(estimator, kind)
        found = cls(kind, Neighbours.REPLACE_ONE, float(norm), labels, bounds, n_rows)
        relation = relation_of(estimator, found.blank_data()) if relation is None else relation
        return replace(found, relation=Neighbours(relation))

    def blank_data(self) -> tuple[Any, ...]:
        """Return rows that say nothing, with labels of every class."""
        return self.data(np.zeros((self.n_rows, 2)), np.resize(self.labels, self.n_rows))

    def data(self, X: NDArray[np.float64], y: Any) -> tuple[Any, ...]:
        """Return arguments of `fit`; a transformer gets labels too, which it may ignore."""
        return X, np.asarray(y)


def labels_of(estimator: Any) -> tuple[Any, ...]:
    """Return two labels that pull in opposite directions; none where no label is learnt."""
    kind = _kind(estimator)
    return _labels(estimator, kind) if kind in ("classifier", "regressor") else ()


def relation_of(
    estimator: Any,
    data: Any,
    otherwise: Neighbours | None = Neighbours.REPLACE_ONE,
    *,
    by_parameter: bool = True,
) -> Neighbours:
    """Return the neighbouring relation: a parameter's, a fitted statement's, or `otherwise`.

    `data` are fitted once if no parameter says it. None raises where they cannot be.
    """
    given = reader(estimator)("neighbours") if by_parameter else None
    if given is None:
        try:
            given = call_fit(fresh(estimator), data).privacy_.neighbours
        except Exception as error:  # of another library, or not made for such data
            if otherwise is None:
                raise ValueError(
                    f"{type(estimator).__name__}, fitted to canaries, does not say for which "
                    f"neighbours it is private ({type(error).__name__}: {error}). Pass the "
                    "relation if that is not the reason."
                ) from error
            given = otherwise
    return Neighbours(given)


def reader(estimator: Any) -> Any:
    """Return what reads a parameter by name: its own, else the only one of a nested estimator."""
    params = estimator.get_params(deep=True) if hasattr(estimator, "get_params") else {}

    def read(name: str) -> Any:
        if name in params:
            return params[name]
        nested = [params[key] for key in params if key.endswith(f"__{name}")]
        return nested[0] if len(nested) == 1 else None

    return read


def has_no_constant(estimator: Any) -> bool:
    """Whether a row of zeros counts for nothing: in a linear model without intercept.

    One within a pipeline may see other rows than those given, and one within a search is scored on
    rows of zeros too.
    """
    params = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    return params.get("fit_intercept") is False


def _is_number(value: Any) -> bool:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return number and 0 < abs(float(value)) < math.inf


def _kind(estimator: Any) -> str:
    """Return what scikit-learn's tags say, which other classes need not have."""
    try:
        if is_classifier(estimator):
            return "classifier"
        if is_regressor(estimator):
            return "regressor"
    except AttributeError:  # no tags
        pass
    return "transformer" if hasattr(estimator, "transform") else "model"


def _labels(estimator: Any, kind: str) -> tuple[Any, ...]:
    read = reader(estimator)
    if kind != "regressor":
        classes = read("classes")
        return tuple(np.asarray(classes)[[0, -1]]) if classes is not None else (0, 1)
    bound = read("y_bound")
    if bound is None or not _is_number(bound):
        # Huber losses take any label, and their pull stops growing.
        bound = _UNBOUNDED_LABEL
    return (-float(bound), float(bound))
