"""What the wrapper releases: a certified minimiser, or a model whose stability is declared."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import ElasticNet, Ridge

from skdp.meta.parameter_vectors import (
    set_classes,
    set_linear,
    unfitted_twin,
)
from skdp.privacy.budget import Sensitivity
from skdp.records import clip_rows
from skdp.records.groups import GroupSlots
from skdp.stability.reading import ModelReading
from skdp.stability.selection import WeightThreshold
from skdp.stability.wrapped import BOUND, WrappedPlan

Array = npt.NDArray[np.float64]

#: Classes that keep the intercept of one output as a number.
SCALAR_INTERCEPT = (Ridge, ElasticNet)


@dataclass(frozen=True)
class Release(ABC):
    """Parameters that are about to be released, and everything public about them.

    Parameters
    ----------
    estimator : estimator
        The wrapped model; its parameters are public.
    classes : ndarray or None
        Sorted class labels, for classifiers.
    """

    estimator: Any
    classes: npt.NDArray[Any] | None

    @property
    @abstractmethod
    def sensitivity(self) -> Sensitivity:
        """How far one record moves all parameters together."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of parameters."""

    @property
    @abstractmethod
    def n_weights(self) -> int | None:
        """Number of weights of features; None for models that are not linear."""

    @property
    @abstractmethod
    def theorem(self) -> str:
        """What the sensitivity rests on."""

    @property
    @abstractmethod
    def assumptions(self) -> tuple[str, ...]:
        """What must be true, beside what every wrapper assumes."""

    @property
    @abstractmethod
    def verified(self) -> bool:
        """Whether the sensitivity is proved here."""

    @property
    def slots(self) -> GroupSlots | None:
        """Of the rows of groups; None where the unit is a row."""
        return None

    @property
    def classes_of(self) -> str:
        """Where the public classes come from."""
        return "y"

    @abstractmethod
    def parameters(self) -> Array:
        """Compute the parameters: private until they are released."""

    @abstractmethod
    def require_use(self, n_features: int | None) -> None:
        """Refuse, before anything is spent, what could not predict once it is released."""

    @abstractmethod
    def fill(self, onto: Any, released: Array, rule: WeightThreshold) -> None:
        """Give released parameters to a new model."""

    def model(self, released: Array, rule: WeightThreshold) -> Any:
        """Return a new model that holds released parameters and public facts alone."""
        onto = unfitted_twin(self.estimator)
        self.fill(onto, released, rule)
        if self.classes is not None:
            set_classes(onto, self.classes)
        return onto


@final
@dataclass(frozen=True)
class MinimiserRelease(Release):
    """The certified minimiser of what a registered model minimises.

    Parameters
    ----------
    plan : WrappedPlan
    row_norm : float
    rows, targets
        Admitted data: rows not yet clipped; places of labels, or targets.
    slots : GroupSlots or None, default=None
        Of the rows of groups, which then are what `plan` counts.
    """

    plan: WrappedPlan
    row_norm: float
    rows: Any
    targets: npt.NDArray[Any]
    slots: GroupSlots | None = None

    verified = True
    assumptions = ("The parameters of the wrapped model are public.",)

    @property
    def sensitivity(self) -> Sensitivity:
        return self.plan.sensitivity

    @property
    def size(self) -> int:
        return self.plan.size

    @property
    def n_weights(self) -> int:
        columns = self.plan.domain.n_columns
        return self.size // columns * self.plan.domain.n_features

    @property
    def theorem(self) -> str:
        return joint_theorem(self.plan.reading)

    def require_use(self, n_features: int | None) -> None:
        """A linear model of the registry predicts from what it is given."""

    def parameters(self) -> Array:
        rows, targets, row_weights = self.rows, self.targets, None
        if self.slots is not None:
            rows, targets, row_weights = self.slots.data(rows, targets, None)
        rows = clip_rows(rows, self.row_norm, share_index=True)
        weights = self.plan.reading.class_weights(self.classes)
        return self.plan.minimisers(rows, targets, weights, row_weights)

    def fill(self, onto: Any, released: Array, rule: WeightThreshold) -> None:
        domain, constant = self.plan.domain, self.plan.reading.constant
        scores = released.reshape(-1, domain.n_columns)
        weights = rule.apply(scores[:, : domain.n_features])
        intercept = None if constant is None else scores[:, -1] * constant
        set_linear(onto, weights, intercept, flat=self.classes is None)
        if type(onto) in SCALAR_INTERCEPT:
            onto.intercept_ = float(onto.intercept_[0])


def joint_theorem(reading: ModelReading) -> str:
    """Name the theorem, and what K problems over the same rows add to it."""
    problems = reading.labels.n_problems
    joint = f"; {problems} problems over the same rows, sqrt({problems}) times one of them"
    return BOUND.theorem + (joint if problems > 1 else "")
