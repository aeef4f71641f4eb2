"""Releases of models whose stability is declared: fitted elsewhere, or by their own algorithm."""

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from skdp.exceptions import UnknownStabilityError
from skdp.meta.parameter_vectors import (
    LINEAR_TWINS,
    LinearVector,
    ParameterVector,
    coefficients,
    set_public_facts,
)
from skdp.meta.releases import Release, joint_theorem
from skdp.privacy.budget import Neighbours, Sensitivity
from skdp.records import clip_rows
from skdp.stability.declared import DeclaredFit, DeclaredStability
from skdp.stability.domain import Domain
from skdp.stability.erm import ROUND_UP
from skdp.stability.reading import ModelReading
from skdp.stability.selection import WeightThreshold
from skdp.stability.wrapped import exact_sensitivity

Array = npt.NDArray[np.float64]

#: Rows of made-up data that show in which shapes a model keeps its parameters, a class at least.
REHEARSAL_ROWS = 40


@final
@dataclass(frozen=True)
class Declaration:
    """How far one record moves a model, as the user declares it."""

    sensitivity: Sensitivity
    theorem: str
    assumptions: tuple[str, ...]

    @classmethod
    def of_stability(cls, stability: DeclaredStability, fit: DeclaredFit) -> "Declaration":
        """Take a declared stability at its word."""
        bound = Sensitivity(stability.distance(fit) * ROUND_UP, "l2", Neighbours.REPLACE_ONE)
        return cls(bound, stability.theorem, (*_declared_facts(fit), *stability.assumptions(fit)))

    @classmethod
    def of_registered(cls, reading: ModelReading, domain: Domain) -> "Declaration":
        """Take a frozen model for the exact minimiser of its objective."""
        fit = DeclaredFit(domain.n_samples, domain.row_norm, None, domain.has_intercept)
        exact = (
            "Declared and not verified: the frozen model is the exact minimiser of its objective "
            "(solvers of scikit-learn stop at a tolerance; fit(X, y) solves it again, certified), "
            "it was fitted without sample_weight, and its labels were within what its parameters "
            "and y_bound say.",
        )
        return cls(
            exact_sensitivity(reading, domain),
            joint_theorem(reading),
            (*_declared_facts(fit), *exact),
        )


def _declared_facts(fit: DeclaredFit) -> tuple[str, ...]:
    rows = (
        f"Declared and not verified: every row had Euclidean norm at most {fit.row_norm}.",
        "No parameter of the model was chosen by looking at this data.",
    )
    if fit.n_samples is None:
        return rows
    return (
        f"Declared and not verified: the model was fitted to {fit.n_samples} rows, a public "
        "number.",
        *rows,
    )


@dataclass(frozen=True)
class DeclaredRelease(Release):
    """A model that somebody else's algorithm fitted.

    Parameters
    ----------
    declaration : Declaration
    vector : ParameterVector
        Where the model keeps its parameters.
    """

    declaration: Declaration
    vector: ParameterVector

    verified = False

    @property
    def sensitivity(self) -> Sensitivity:
        return self.declaration.sensitivity

    @property
    def theorem(self) -> str:
        return self.declaration.theorem

    @property
    def assumptions(self) -> tuple[str, ...]:
        return self.declaration.assumptions

    @property
    def size(self) -> int:
        return int(self.vector.read(self.shown).size)

    @property
    def n_weights(self) -> int | None:
        return None if self.vector.linear_scores is None else int(coefficients(self.shown).size)

    @property
    @abstractmethod
    def shown(self) -> Any:
        """A fitted model with parameters of the right shapes."""

    def require_use(self, n_features: int | None) -> None:
        """Let a model with made-up parameters of the same shapes predict a made-up row."""
        model = self.model(np.zeros(self.vector.read(self.shown).shape), WeightThreshold())
        if n_features is None:
            return
        model.n_features_in_ = n_features
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                for method in ("predict", "decision_function", "predict_proba"):
                    getattr(model, method, np.shape)(np.zeros((1, n_features)))
        except Exception as error:  # whatever it is, the released model would do it too
            raise ValueError(
                f"A new {type(model).__name__} that holds released parameters alone cannot "
                f"predict: {error}. Name every attribute that its predict needs and its fit "
                "computes in parameters=(...), all of which the declared stability is then about."
            ) from None

    def fill(self, onto: Any, released: Array, rule: WeightThreshold) -> None:
        self.vector.write(released, self.shown, onto)
        if self.vector.linear_scores is not None:
            onto.coef_ = rule.apply(onto.coef_)
        set_public_facts(onto, self.shown)


@final
@dataclass(frozen=True)
class FrozenRelease(DeclaredRelease):
    """The parameters of a model that is fitted already: no data is read."""

    @property
    def shown(self) -> Any:
        return self.estimator

    @property
    def classes_of(self) -> str:
        return "the frozen model"

    def parameters(self) -> Array:
        return self.vector.read(self.estimator)


@final
@dataclass(frozen=True)
class OwnFitRelease(DeclaredRelease):
    """The parameters that the model's own `fit` reaches on clipped rows.

    A fit that raises releases zeros: that it raised depends on the data.

    Parameters
    ----------
    rehearsed : estimator
        Fitted to made-up rows, for the shapes of its parameters.
    row_norm : float
    rows, targets
        Admitted data; labels as the user gave them.
    """

    rehearsed: Any
    row_norm: float
    rows: Any
    targets: npt.NDArray[Any]

    @property
    def assumptions(self) -> tuple[str, ...]:
        return (
            *self.declaration.assumptions,
            "The model's own fit raises on no admissible data; zeros would be its result.",
        )

    @property
    def shown(self) -> Any:
        return self.rehearsed

    def parameters(self) -> Array:
        shape = self.vector.read(self.rehearsed).shape
        model = clone(self.estimator)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                model.fit(clip_rows(self.rows, self.row_norm), self.targets)
                found = self.vector.read(model)
            except Exception:  # whatever it says is about the data
                return np.zeros(shape)
        return found if found.shape == shape else np.zeros(shape)


def rehearse(estimator: Any, n_features: int, classes: npt.NDArray[Any] | None) -> Any:
    """Fit a clone to made-up rows, the same for all data of these columns and classes."""
    n = REHEARSAL_ROWS * (1 if classes is None else len(classes))
    angles = np.arange(1, n + 1)[:, None] * np.sqrt(np.arange(2, n_features + 2))
    rows = np.sin(angles) / np.sqrt(n_features)
    targets = np.sin(np.arange(n)) if classes is None else np.resize(classes, n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(estimator).fit(rows, targets)


def require_penalised_intercept(estimator: Any, reading: ModelReading) -> None:
    """Refuse a frozen model whose intercept is free."""
    if reading.constant is None or reading.intercept_penalised:
        return
    raise UnknownStabilityError(
        f"The frozen {type(estimator).__name__} has an unpenalised intercept, which one record can "
        "move by any amount. Call fit(X, y) to solve its objective again with the intercept "
        "penalised, fit it with fit_intercept=False, or declare "
        "stability=ParameterStability(l2=...)."
    )


def require_linear_twin(estimator: Any, classes: npt.NDArray[Any] | None) -> None:
    """Refuse votes between pairs of classes, which no linear model of weights does."""
    if type(estimator) in LINEAR_TWINS and classes is not None and len(classes) > 2:
        raise UnknownStabilityError(
            f"{type(estimator).__name__} votes between pairs of classes beyond two, which no "
            "linear model of weights does. Use LinearSVC(loss='hinge'), one class against the rest."
        )


def registered_vector(estimator: Any, reading: ModelReading) -> ParameterVector:
    """Return where a registered linear model keeps its parameters."""
    scores = len(coefficients(estimator))
    return LinearVector(scores, reading.constant is not None, reading.constant or 1.0)
