"""Linear support vector machines, for classes and for numbers."""

from typing import Any

from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

from skdp.exceptions import UnknownStabilityError
from skdp.objectives import SquaredHinge
from skdp.objectives.further_losses import SquaredEpsilonInsensitive
from skdp.objectives.losses import ConvexLoss
from skdp.objectives.piecewise_linear import EpsilonInsensitive, Hinge
from skdp.stability.reading import (
    Facts,
    InverseOfSum,
    ModelReading,
    Numbers,
    Signs,
    constant_column,
    declared_class_weight,
    label_bound,
    labels_for,
    number_of,
    refuse,
)
from skdp.stability.records import ProvedBound

_GAP = "; plus 2 sqrt(g / lambda) for a primal-dual gap of at most g"


def read_linear_svc(model: Any, facts: Facts) -> ModelReading:
    """``C sum (squared) hinge + ||w||^2 / 2``, one problem a class beyond two."""
    if model.penalty != "l2":
        refuse(
            model,
            "penalty",
            "without an L2 part one record can move the minimiser by any amount. Set penalty='l2'.",
        )
    if model.multi_class != "ovr":
        refuse(model, "multi_class", "no bound is proved for it here. Set multi_class='ovr'.")
    return ModelReading(
        loss=SquaredHinge() if model.loss == "squared_hinge" else Hinge(),
        strength=InverseOfSum(number_of(model, "C")),
        labels=labels_for(facts.n_classes or 2),
        constant=constant_column(model, number_of(model, "intercept_scaling")),
        class_weight=declared_class_weight(model),
        intercept_penalised=True,
    )


def insensitive(model: Any, facts: Facts) -> EpsilonInsensitive:
    """Return the epsilon-insensitive loss of a model; y_bound is taken where it is declared."""
    width = _width(model, facts.y_bound)
    return EpsilonInsensitive(width, float("inf") if facts.y_bound is None else facts.y_bound)


def squared_insensitive(model: Any, facts: Facts) -> SquaredEpsilonInsensitive:
    """Return the squared epsilon-insensitive loss of a model, which needs y_bound."""
    y_bound = label_bound(model, facts)
    return SquaredEpsilonInsensitive(y_bound, _width(model, y_bound))


def _width(model: Any, y_bound: float | None) -> float:
    width = number_of(model, "epsilon")
    if width < 0 or (y_bound is not None and width >= y_bound):
        refuse(model, "epsilon", "it must be at least 0 and below y_bound, or nothing is learned.")
    return width


def read_linear_svr(model: Any, facts: Facts) -> ModelReading:
    """``C sum (squared) epsilon-insensitive loss + ||w||^2 / 2``."""
    squared = model.loss == "squared_epsilon_insensitive"
    loss: ConvexLoss = squared_insensitive(model, facts) if squared else insensitive(model, facts)
    return ModelReading(
        loss=loss,
        strength=InverseOfSum(number_of(model, "C")),
        labels=Numbers(),
        constant=constant_column(model, number_of(model, "intercept_scaling")),
        intercept_penalised=True,
    )


def _require_linear(model: Any) -> None:
    if model.kernel != "linear":
        refuse(
            model,
            "kernel",
            "the model has no weights: it predicts from training rows, which cannot be released. "
            "Set kernel='linear'.",
        )


def read_svc(model: Any, facts: Facts) -> ModelReading:
    """``C sum hinge + ||w||^2 / 2``, with the intercept penalised."""
    _require_linear(model)
    if model.probability not in (False, "deprecated"):
        refuse(
            model,
            "probability",
            "probabilities are calibrated on the training rows, outside of what is released. Set "
            "probability=False, or use LogisticRegression.",
        )
    if (facts.n_classes or 2) > 2:
        raise UnknownStabilityError(
            "Only binary classification is supported with SVC: it votes between pairs of classes "
            "beyond two, which no linear model of weights does. Use LinearSVC(loss='hinge'), one "
            "class against the rest."
        )
    return ModelReading(
        loss=Hinge(),
        strength=InverseOfSum(number_of(model, "C")),
        labels=Signs(),
        constant=1.0,
        class_weight=declared_class_weight(model),
    )


def read_svr(model: Any, facts: Facts) -> ModelReading:
    """``C sum epsilon-insensitive loss + ||w||^2 / 2``, with the intercept penalised."""
    _require_linear(model)
    return ModelReading(
        loss=insensitive(model, facts),
        strength=InverseOfSum(number_of(model, "C")),
        labels=Numbers(),
        constant=1.0,
    )


_SOURCE = (
    "Bousquet and Elisseeff 2002, Theorem 22 (strong monotonicity: no smoothness is needed); one "
    "class against the rest: the K problems share the record, and their distances add in squares"
)

RECORDS = (
    ProvedBound(
        model=LinearSVC,
        read=read_linear_svc,
        objective="C sum hinge or squared hinge + L2 penalty, one class against the rest",
        bound="C D, sqrt(K) times for K > 2 classes; squared hinge D = 4 W kappa (1 + R kappa), "
        "hinge D = 2 W kappa" + _GAP,
        source=_SOURCE,
        solver_parameters=("tol", "max_iter", "random_state"),
    ),
    ProvedBound(
        model=LinearSVR,
        read=read_linear_svr,
        objective="C sum epsilon-insensitive loss, plain or squared, + L2 penalty",
        bound="C D; squared D = 4 W kappa (R kappa + y_bound - epsilon), plain D = 2 W kappa"
        + _GAP,
        source=_SOURCE,
        solver_parameters=("tol", "max_iter", "random_state"),
    ),
    ProvedBound(
        model=SVC,
        read=read_svc,
        objective="C sum hinge + L2 penalty (kernel='linear', two classes)",
        bound="2 C W kappa" + _GAP,
        source=_SOURCE,
        solver_parameters=("tol", "max_iter", "shrinking"),
    ),
    ProvedBound(
        model=SVR,
        read=read_svr,
        objective="C sum epsilon-insensitive loss + L2 penalty (kernel='linear')",
        bound="2 C kappa" + _GAP,
        source=_SOURCE,
        solver_parameters=("tol", "max_iter", "shrinking"),
    ),
)
