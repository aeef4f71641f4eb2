"""A fitted model's parameters as one vector, and a new model that holds released ones alone."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import LabelBinarizer
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

from skdp.exceptions import UnknownStabilityError

Array = npt.NDArray[np.float64]

#: Functions of the constructor's parameters and of public shapes, which predictions need.
PUBLIC_FACTS = {
    MLPClassifier: ("n_layers_", "n_outputs_", "out_activation_"),
    MLPRegressor: ("n_layers_", "n_outputs_", "out_activation_"),
}
#: What every released model has, unchanged.
NAMES_AND_CLASSES = ("n_features_in_", "feature_names_in_", "classes_", "n_classes_")
#: What predicts from training rows is replaced by a linear model of the same decision.
LINEAR_TWINS = {SVC: LinearSVC, SVR: LinearSVR}


class ParameterVector(ABC):
    """Where a model keeps its parameters.

    Attributes
    ----------
    linear_scores : int or None
        Number of linear scores; None for models that are not linear.
    fits_intercept : bool
        Whether intercepts are among the parameters.
    """

    linear_scores: int | None
    fits_intercept: bool

    @abstractmethod
    def read(self, model: Any) -> Array:
        """Return all parameters of a fitted model, shape (1, size) or (n_scores, n_columns)."""

    @abstractmethod
    def write(self, released: Array, model: Any, onto: Any) -> None:
        """Give released parameters to a new model, in the shapes that `model` has them in."""


@final
@dataclass(frozen=True)
class LinearVector(ParameterVector):
    """``coef_`` and, last, ``intercept_ / intercept_scale``; a row for each score."""

    linear_scores: int
    fits_intercept: bool
    intercept_scale: float = 1.0

    @classmethod
    def of(cls, model: Any, intercept_scale: float = 1.0) -> "LinearVector":
        """Read the shapes of a fitted model."""
        intercept = getattr(model, "fit_intercept", hasattr(model, "intercept_"))
        return cls(len(coefficients(model)), bool(intercept), intercept_scale)

    def read(self, model: Any) -> Array:
        weights = coefficients(model)
        if not self.fits_intercept:
            return finite(weights)
        column = np.broadcast_to(np.ravel(model.intercept_), (len(weights),))
        return finite(np.column_stack((weights, column / self.intercept_scale)))

    def write(self, released: Array, model: Any, onto: Any) -> None:
        weights = released[:, :-1] if self.fits_intercept else released
        intercept = released[:, -1] * self.intercept_scale if self.fits_intercept else None
        set_linear(onto, weights, intercept, flat=np.ndim(model.coef_) == 1)


@final
@dataclass(frozen=True)
class NamedVector(ParameterVector):
    """Arrays, or lists of arrays, in named attributes."""

    names: tuple[str, ...]

    linear_scores = None
    fits_intercept = True

    def read(self, model: Any) -> Array:
        arrays = [np.ravel(array) for name in self.names for array in _arrays(model, name)]
        return finite(np.concatenate(arrays).astype(np.float64)[None])

    def write(self, released: Array, model: Any, onto: Any) -> None:
        flat, start = released.ravel(), 0
        for name in self.names:
            parts = []
            for array in _arrays(model, name):
                length = math.prod(np.shape(array))
                part = flat[start : start + length]
                parts.append(part.reshape(np.shape(array)).copy())
                start += length
            held = getattr(model, name)
            several = isinstance(held, list | tuple)
            setattr(onto, name, type(held)(parts) if several else _like(held, parts[0]))


def _like(held: Any, part: Array) -> Any:
    return float(part) if np.ndim(held) == 0 else part


def _arrays(model: Any, name: str) -> list[Any]:
    held = getattr(model, name)
    held = list(held) if isinstance(held, list | tuple) else [held]
    return [array.toarray() if sparse.issparse(array) else array for array in held]


def vector_of(
    model: Any, names: tuple[str, ...] | None, intercept_scale: float = 1.0
) -> ParameterVector:
    """Return where a fitted model keeps its parameters, or refuse one that has no vector of them.

    Parameters
    ----------
    names : tuple of str or None
        Attributes as the user names them; None looks for ``coef_`` and ``intercept_`` or for
        ``coefs_`` and ``intercepts_``.
    """
    if names is not None:
        missing = [name for name in names if not hasattr(model, name)]
        if missing:
            raise ValueError(
                f"parameters names {missing}, which the fitted {type(model).__name__} does not "
                "have. Name attributes that hold its arrays."
            )
        _refuse_public_names(model, names)
        return NamedVector(tuple(names))
    if hasattr(model, "coef_"):
        return LinearVector.of(model, intercept_scale)
    if hasattr(model, "coefs_") and hasattr(model, "intercepts_"):
        return NamedVector(("coefs_", "intercepts_"))
    raise UnknownStabilityError(
        f"{type(model).__name__} has no vector of parameters (coef_, or coefs_ and intercepts_) "
        "that noise could be added to; trees, neighbours and kernels predict from training rows. "
        "Use PrivateElasticNetClassifier, PrivateElasticNet or PrivateMLPClassifier; where the "
        "parameters have other names, pass parameters=(...)."
    )


def _refuse_public_names(model: Any, names: tuple[str, ...]) -> None:
    """Refuse what is no result of the fit: noise on it hides nothing, or it is released bare."""
    given = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    known = {*given, *NAMES_AND_CLASSES, *PUBLIC_FACTS.get(type(model), ())}
    public = [name for name in names if name in known]
    if public or not names or len(set(names)) < len(names):
        what = f"{public}, which are constructor parameters or public facts" if public else names
        raise ValueError(
            f"parameters names {what}. Name attributes of {type(model).__name__} that its fit "
            "computes from rows, each once."
        )


def coefficients(model: Any) -> Array:
    """Return ``coef_`` as a dense array of one row a score."""
    weights = model.coef_
    dense = weights.toarray() if sparse.issparse(weights) else weights
    return np.atleast_2d(np.asarray(dense, dtype=np.float64))


def finite(parameters: Array) -> Array:
    """Refuse parameters that are not finite: no noise hides them."""
    if not np.isfinite(parameters).all():
        raise ValueError("The fitted model holds parameters that are not finite.")
    return parameters


# ----------------------------------------------------------------------------------- the new model


def unfitted_twin(model: Any) -> Any:
    """Return an unfitted model of the same parameters that can hold released weights."""
    twin = LINEAR_TWINS.get(type(model))
    if twin is None:
        return clone(model)
    common = set(model.get_params(deep=False)) & {"C", "epsilon", "class_weight", "tol"}
    named = {name: getattr(model, name) for name in sorted(common)}
    losses = {LinearSVC: "hinge", LinearSVR: "epsilon_insensitive"}
    return twin(loss=losses[twin], **named)


def set_linear(onto: Any, weights: Array, intercept: Array | None, *, flat: bool) -> None:
    """Give weights and intercepts to a linear model; `flat` for ``coef_`` of one dimension."""
    intercept = np.zeros(len(weights)) if intercept is None else intercept.copy()
    onto.coef_ = weights[0].copy() if flat else weights.copy()
    onto.intercept_ = intercept


def set_classes(onto: Any, classes: npt.NDArray[Any]) -> None:
    """Give the public classes to a new model, in the form in which its class keeps them."""
    binarizers = {RidgeClassifier: LabelBinarizer(neg_label=-1), MLPClassifier: LabelBinarizer()}
    if type(onto) in binarizers:
        onto._label_binarizer = binarizers[type(onto)].fit(classes)
    if not isinstance(getattr(type(onto), "classes_", None), property):
        onto.classes_ = classes.copy()


def set_public_facts(onto: Any, model: Any) -> None:
    """Copy what follows from constructor and shapes alone."""
    for name in PUBLIC_FACTS.get(type(model), ()):
        setattr(onto, name, getattr(model, name))
