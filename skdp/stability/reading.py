"""A wrapped model read as our objective: loss, penalty in mean-loss form, labels, intercept."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, final

import numpy as np
import numpy.typing as npt

from skdp._validation import is_real, non_negative, positive
from skdp.exceptions import UnknownStabilityError
from skdp.objectives import ElasticNet
from skdp.objectives.losses import ConvexLoss

Array = npt.NDArray[Any]


@final
@dataclass(frozen=True)
class Facts:
    """Public facts that decide what a wrapped model minimises.

    Parameters
    ----------
    n_classes : int or None
        Number of classes; None for regression.
    y_bound : float or None
        Declared bound on the targets of a regression.
    """

    n_classes: int | None = None
    y_bound: float | None = None


# --------------------------------------------------------------------- the strength of the penalty


@dataclass(frozen=True)
class Strength(ABC):
    """A model's parameter that sets the penalty, and what it is in mean-loss form.

    Parameters
    ----------
    value : float
    """

    value: float

    def __post_init__(self) -> None:
        positive(**{self.name: self.value})

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the parameter."""

    @abstractmethod
    def alpha(self, n_samples: int) -> float:
        """Weight of the penalty beside the mean loss."""

    @abstractmethod
    def value_for(self, alpha: float, n_samples: int) -> float:
        """Value of the parameter that gives this weight."""


@final
@dataclass(frozen=True)
class InverseOfSum(Strength):
    """``C sum loss + penalty``: alpha = 1 / (C n). The sensitivity is C D whatever n is."""

    name = "C"

    def alpha(self, n_samples: int) -> float:
        return 1 / (self.value * n_samples)

    def value_for(self, alpha: float, n_samples: int) -> float:
        return 1 / (alpha * n_samples)


@final
@dataclass(frozen=True)
class BesideSum(Strength):
    """``sum loss + alpha penalty``: alpha / n in mean-loss form."""

    name = "alpha"

    def alpha(self, n_samples: int) -> float:
        return self.value / n_samples

    def value_for(self, alpha: float, n_samples: int) -> float:
        return alpha * n_samples


@final
@dataclass(frozen=True)
class BesideMean(Strength):
    """``mean loss + alpha penalty``, as here."""

    name = "alpha"

    def alpha(self, n_samples: int) -> float:
        return self.value

    def value_for(self, alpha: float, n_samples: int) -> float:
        return alpha


# -------------------------------------------------------------------------------- labels to targets


@dataclass(frozen=True)
class Labels(ABC):
    """How labels become targets and weights of one or several problems over the same rows."""

    @property
    def n_problems(self) -> int:
        """Number of minimisers that are released together."""
        return 1

    @property
    def least_weight(self) -> float:
        """A weight that some record has whatever the class weights are."""
        return 0.0

    @abstractmethod
    def problems(self, y: Array, class_weights: Array | None) -> Iterator[tuple[Array, Any]]:
        """Yield targets and weights (None: ones) of each problem.

        y holds the places of labels among the sorted classes, or the targets of a regression.
        """


def _by_class(places: Array, class_weights: Array | None) -> Any:
    return None if class_weights is None else class_weights[places]


@final
@dataclass(frozen=True)
class Numbers(Labels):
    """Targets of a regression."""

    def problems(self, y: Array, class_weights: Array | None) -> Iterator[tuple[Array, Any]]:
        yield y, None


@final
@dataclass(frozen=True)
class Signs(Labels):
    """Two classes: -1 and +1."""

    def problems(self, y: Array, class_weights: Array | None) -> Iterator[tuple[Array, Any]]:
        yield 2.0 * y - 1, _by_class(y, class_weights)


@final
@dataclass(frozen=True)
class Places(Labels):
    """Several classes in one problem, by their places."""

    def problems(self, y: Array, class_weights: Array | None) -> Iterator[tuple[Array, Any]]:
        yield y, _by_class(y, class_weights)


@final
@dataclass(frozen=True)
class OneVersusRest(Labels):
    """K problems, each with one class as +1: every record is in all of them.

    Parameters
    ----------
    n_classes : int
    own_weight_only : bool
        Whether a record has its class's weight in the problem of its own class alone and 1 in the
        others (LinearSVC, SGDClassifier), or the same in all (RidgeClassifier).
    """

    n_classes: int
    own_weight_only: bool = True

    @property
    def n_problems(self) -> int:
        return self.n_classes

    @property
    def least_weight(self) -> float:
        return 1.0 if self.own_weight_only else 0.0

    def problems(self, y: Array, class_weights: Array | None) -> Iterator[tuple[Array, Any]]:
        weights = _by_class(y, class_weights)
        for k in range(self.n_classes):
            mine = y == k
            own = weights is not None and self.own_weight_only
            yield np.where(mine, 1.0, -1.0), np.where(mine, weights, 1.0) if own else weights


def labels_for(n_classes: int | None, *, own_weight_only: bool = True) -> Labels:
    """Return the labels of a model with one score for two classes and one a class otherwise."""
    if n_classes is None:
        return Numbers()
    return Signs() if n_classes == 2 else OneVersusRest(n_classes, own_weight_only)


# -------------------------------------------------------------------------------------- the reading


@final
@dataclass(frozen=True)
class ModelReading:
    """What a wrapped model minimises, over rows clipped and with a penalised constant column.

    Parameters
    ----------
    loss : ConvexLoss
        Smooth, or with kinks.
    strength : Strength
        The model's own parameter of the penalty.
    l1_ratio : float
        Share of the L1 part, below 1.
    constant : float or None
        Constant column that carries the intercept; None without one.
    labels : Labels
    class_weight : mapping or None
        Declared weights by class; other classes have weight 1.
    intercept_penalised : bool
        Whether the model as scikit-learn fits it penalises its intercept like ours.
    """

    loss: ConvexLoss
    strength: Strength
    labels: Labels
    l1_ratio: float = 0.0
    constant: float | None = None
    class_weight: Mapping[Any, float] | None = None
    intercept_penalised: bool = False

    def penalty(self, n_samples: int) -> ElasticNet:
        """Return the penalty in mean-loss form."""
        return ElasticNet(self.strength.alpha(n_samples), self.l1_ratio)

    @property
    def max_weight(self) -> float:
        """Largest weight that a record can have, also of a class that is not named."""
        if self.class_weight is None:
            return 1.0
        return float(max([1.0, *self.class_weight.values()]))

    def class_weights(self, classes: Array | None) -> Array | None:
        """Return one weight a class, in the order of the sorted classes."""
        if self.class_weight is None or classes is None:
            return None
        labels = classes.tolist()
        if not set(self.class_weight) <= set(labels):
            raise ValueError("class_weight names a label outside of the classes.")
        return np.array([self.class_weight.get(label, 1.0) for label in labels], dtype=np.float64)

    def largest_weight(self, classes: Array | None) -> float:
        """Return the largest weight of a record when the classes are known."""
        weights = self.class_weights(classes)
        if weights is None:
            return self.max_weight
        return max(float(weights.max()), self.labels.least_weight)


# ------------------------------------------------------------------------------------ refusals


def refuse(model: object, parameter: str, why: str) -> NoReturn:
    """Refuse a parameter of a wrapped model that no bound covers."""
    value = getattr(model, parameter, None)
    raise UnknownStabilityError(f"{type(model).__name__}({parameter}={value!r}): {why}")


def number_of(model: object, parameter: str) -> float:
    """Return a parameter as float64, or refuse what is no number."""
    value = getattr(model, parameter)
    if not is_real(value):
        refuse(model, parameter, "a number is needed here; set one.")
    return float(value)


def constant_column(model: Any, scaling: float = 1.0) -> float | None:
    """Return the constant column of a model with an intercept."""
    return scaling if model.fit_intercept else None


def penalised_share(model: object, l1_ratio: Any) -> float:
    """Return l1_ratio, or refuse one that leaves no strong convexity."""
    if not is_real(l1_ratio) or not 0 <= l1_ratio <= 1:
        refuse(model, "l1_ratio", "it must be in [0, 1).")
    if l1_ratio == 1:
        refuse(
            model,
            "l1_ratio",
            "an L1 penalty alone leaves no strong convexity: one record can move the minimiser by "
            "any amount. Set l1_ratio below 1.",
        )
    return float(l1_ratio)


def declared_class_weight(model: Any) -> Mapping[Any, float] | None:
    """Return the declared weights of classes; refuse those computed from the data."""
    weight = model.class_weight
    if weight is None:
        return None
    if not isinstance(weight, Mapping):
        refuse(
            model,
            "class_weight",
            "weights computed from the class counts change for all records when one changes its "
            "class. Set a dict of declared weights, or None.",
        )
    non_negative(**{f"class_weight[{label!r}]": value for label, value in weight.items()})
    return {label: float(value) for label, value in weight.items()} or None


def label_bound(model: object, facts: Facts) -> float:
    """Return the declared bound on targets, which the loss at hand needs."""
    if facts.y_bound is None:
        raise UnknownStabilityError(
            f"{type(model).__name__} minimises squared residuals: without a declared bound on the "
            "labels one record can move it by any amount. Set y_bound on the wrapper."
        )
    return facts.y_bound


def refuse_early_stopping(model: Any) -> None:
    """Refuse a model that stops by a score on rows that it holds out."""
    if model.early_stopping:
        refuse(
            model,
            "early_stopping",
            "when it stops depends on the data, and what it reaches is no minimiser. Set "
            "early_stopping=False.",
        )


def refuse_positive(model: Any) -> None:
    """Refuse the constraint to non-negative coefficients, which our solver does not have."""
    if model.positive:
        refuse(
            model,
            "positive",
            "no certified solver for non-negative coefficients is here. Set positive=False.",
        )
