"""What a model to be wrapped may not hold or do, told from its parameters alone."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import SGDClassifier, SGDRegressor

__all__ = [
    "check_parameters",
    "refuse_chatter",
    "refuse_fixed_weights",
    "refuse_hidden_state",
    "refuse_inexact_frozen",
    "refuse_several_labels",
]


def check_parameters(model: Any) -> None:
    """Let a model of scikit-learn refuse parameters that its own fit would refuse.

    Raises
    ------
    ValueError
        For a misspelt option or a number out of range.
    """
    if hasattr(model, "_parameter_constraints"):
        model._validate_params()


def refuse_hidden_state(model: Any) -> None:
    """Refuse a model whose clone is not bare: it would be published beside the noisy weights.

    Raises
    ------
    ValueError
        If the model, or a parameter of it, is frozen, if cloning returns the model itself, or if
        a parameter is a matrix, which may have been computed from private rows.
    """
    given = model.get_params(deep=True) if hasattr(model, "get_params") else {}
    if isinstance(model, FrozenEstimator) or any(
        isinstance(value, FrozenEstimator) for value in given.values()
    ):
        raise ValueError(
            "A frozen model inside of the model keeps its raw weights wherever it goes. Wrap the "
            "fitted model itself, in one FrozenEstimator."
        )
    for name, value in given.items():
        if getattr(value, "ndim", 0) >= 2:
            raise ValueError(
                f"{name} is a matrix of shape {np.shape(value)}, which would be published as it "
                "is. Leave it to the model to compute, such as precompute=False."
            )
    if hasattr(model, "get_params") and clone(model) is model:
        raise ValueError(
            f"Cloning {type(model).__name__} gives the fitted model itself, raw weights and all."
        )


def refuse_chatter(model: Any) -> None:
    """Refuse a model that prints what it computes from private rows."""
    for name, value in model.get_params(deep=True).items():
        if name.rpartition("__")[2] == "verbose" and value:
            raise ValueError(f"{name}={value!r} prints numbers of private rows: set it to 0.")


def refuse_fixed_weights(model: Any) -> None:
    """Refuse a model that computes its weights from something else: it can be given none."""
    for name in ("coef_", "intercept_"):
        place = getattr(type(model), name, None)
        if isinstance(place, property) and place.fset is None:
            raise ValueError(
                f"{type(model).__name__} computes {name} from training rows and can be given none. "
                "Use LinearSVC, LinearSVR or SVC(kernel='linear')."
            )


def refuse_several_labels(model: Any) -> None:
    """Refuse a fitted classifier of several labels a row: a released one would name one class."""
    binarizer = getattr(model, "_label_binarizer", None)
    if str(getattr(binarizer, "y_type_", "")).startswith("multilabel"):
        raise ValueError(
            f"{type(model).__name__} was fitted with several labels a row. Wrap one model for each "
            "label, and let them share a ledger."
        )


def refuse_inexact_frozen(model: Any) -> None:
    """Refuse a frozen model whose parameters say that it is no minimiser."""
    if isinstance(model, SGDClassifier | SGDRegressor):
        raise ValueError(
            f"A fitted {type(model).__name__} is where its steps ended, not the minimiser that the "
            "bound is for. Call fit(X, y), which solves its objective, or declare its stability."
        )
