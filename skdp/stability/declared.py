"""Stability that the user declares: nothing here can be checked, and the statement says so."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

from skdp._validation import non_negative, positive
from skdp.exceptions import UnknownStabilityError


@final
@dataclass(frozen=True)
class DeclaredFit:
    """Public facts of a fit whose stability is declared.

    Parameters
    ----------
    n_samples : int or None
        Declared number of records; None where it was not declared.
    row_norm : float
        Declared bound on the norm of a row, the constant column left out.
    linear_scores : int or None
        Number of linear scores (rows of ``coef_``); None for a model that is not linear.
    fits_intercept : bool
        Whether an intercept is among the parameters.
    """

    n_samples: int | None
    row_norm: float
    linear_scores: int | None
    fits_intercept: bool


@dataclass(frozen=True)
class DeclaredStability(ABC):
    """A declared bound on how far one record moves the parameters."""

    @property
    @abstractmethod
    def theorem(self) -> str:
        """What the bound rests on, with its source."""

    @property
    @abstractmethod
    def intercept_scale(self) -> float:
        """The bound is on the weights and ``intercept / intercept_scale``."""

    @abstractmethod
    def distance(self, fit: DeclaredFit) -> float:
        """L2 bound on the change of all parameters together, replace-one."""

    @abstractmethod
    def assumptions(self, fit: DeclaredFit) -> tuple[str, ...]:
        """What was declared, in plain sentences."""


@final
@dataclass(frozen=True)
class ParameterStability(DeclaredStability):
    """``norm(A(S) - A(S')) <= l2`` for all neighbours S, S' and every random choice of A.

    Parameters
    ----------
    l2 : float
        Bound on the Euclidean distance of all parameters together, intercepts included, when one
        record is replaced. The worst case over data sets and over the algorithm's own randomness:
        a bound on average (Hardt, Recht and Singer 2016) does not do.

    Examples
    --------
    >>> from skdp.stability import ParameterStability
    >>> ParameterStability(l2=0.01)
    ParameterStability(l2=0.01)
    """

    l2: float

    intercept_scale = 1.0

    def __post_init__(self) -> None:
        positive(l2=self.l2)

    @property
    def theorem(self) -> str:
        return f"Declared, not proved: one record moves all parameters together by {self.l2:g}"

    def distance(self, fit: DeclaredFit) -> float:
        return float(self.l2)

    def assumptions(self, fit: DeclaredFit) -> tuple[str, ...]:
        return (
            f"Declared and not verified: replacing any one record moves the parameters by at most "
            f"{self.l2:g} in the Euclidean norm, on every data set and for every random choice of "
            "the training algorithm.",
        )


@final
@dataclass(frozen=True)
class UniformStability(DeclaredStability):
    r"""``|loss(A(S); z) - loss(A(S'); z)| <= beta`` for all neighbours S, S' and all records z.

    That is about losses; how far apart the parameters are needs one more fact, and no bound exists
    without (see Notes). Give `strong_convexity` or `margin_slope`.

    Parameters
    ----------
    beta : float
        Uniform stability, worst case over the algorithm's own randomness, of the loss with or
        without its penalty (replace-one; Bousquet and Elisseeff 2002). With rows of norm at most
        kappa the regularised minimiser has ``2 L^2 kappa^2 / (n lambda)``: kappa squared.
    strong_convexity : float, default=None
        lambda of the objective F_S = mean loss + penalty, in every released parameter, the
        intercept included; the released model is its minimiser.
    gradient_tol : float, default=None
        How near to the minimiser, with `strong_convexity`. None takes Theorem 7 as published,
        ``sqrt(2 beta / lambda)``: named as such, for exact minimisers only, and sqrt(n) times more
        than needed. 0 takes its tight form for exact minimisers, ``sqrt(2 beta / (n lambda))``. A
        bound tau on the smallest subgradient, on every input, takes
        ``(tau + sqrt(tau^2 + 2 lambda beta / n)) / lambda``.
    margin_slope : float, default=None
        For one linear score and a margin loss phi, with no convexity and no optimality asked for:
        the least slope of ``phi(m) - phi(-m)`` (1 for the logistic loss and the hinge losses, 4
        for the squared hinge; times the smallest class weight). The bound is
        ``2 beta / (margin_slope min(row_norm, intercept_scaling))``, without an intercept
        ``2 beta / (margin_slope row_norm)``. `beta` must then hold for **every** row of norm at
        most `row_norm` and both labels: not for non-negative, one-hot or boxed rows only.
    intercept_scaling : float, default=1.0
        Constant column that carries the intercept.

    Raises
    ------
    ValueError
        When both or neither of the two facts are given, or a number is out of range.

    Notes
    -----
    Why one more fact: with ``loss(w; z) = w^2 / 2``, output +r or -r by the label of the first
    record. Every loss is the same, so beta = 0, and the outputs are 2 r apart. Watson, Rozemberczki
    and Sarkar (2020) apply their Theorem 7 to SGD and Nesterov's method, which reach no minimiser:
    one step of length 1 along a gradient of norm 1e-6 has beta = 2e-6, bound 2e-3, and moves by 2.

    Why min(row_norm, intercept_scaling): rows ``(x, c)`` cannot point along a difference of
    intercepts. Logistic models whose intercepts differ by 0.1 exceed ``2 beta / kappa`` by 1.38 (c
    = 1) to 10 times (c = 0.1).

    Examples
    --------
    >>> from skdp.stability import UniformStability
    >>> from skdp.stability.declared import DeclaredFit
    >>> fit = DeclaredFit(10_000, row_norm=1.0, linear_scores=1, fits_intercept=False)
    >>> beta = 2 / (10_000 * 0.1)
    >>> round(UniformStability(beta, strong_convexity=0.1).distance(fit), 4)
    0.2
    >>> round(UniformStability(beta, strong_convexity=0.1, gradient_tol=0.0).distance(fit), 4)
    0.002
    """

    beta: float
    strong_convexity: float | None = None
    gradient_tol: float | None = None
    margin_slope: float | None = None
    intercept_scaling: float = 1.0

    def __post_init__(self) -> None:
        positive(beta=self.beta, intercept_scaling=self.intercept_scaling)
        if (self.strong_convexity is None) == (self.margin_slope is None):
            raise ValueError(
                "beta alone bounds no distance between parameters: two of them can give every "
                "record the same loss and be far apart. Give strong_convexity (for minimisers) or "
                "margin_slope (for one linear score and a margin loss), one of them."
            )
        if self.strong_convexity is not None:
            positive(strong_convexity=self.strong_convexity)
        if self.margin_slope is not None:
            positive(margin_slope=self.margin_slope)
        if self.gradient_tol is not None:
            non_negative(gradient_tol=self.gradient_tol)
            if self.strong_convexity is None:
                raise ValueError(
                    "gradient_tol says how near the minimiser of a strongly convex objective is: "
                    "give strong_convexity with it, or leave it out."
                )

    @property
    def _form(self) -> "_Form":
        if self.strong_convexity is None:
            return _MarginForm(float(self.beta), float(self.margin_slope or 0.0), self.scale)
        convexity = float(self.strong_convexity)
        if self.gradient_tol is None:
            return _PublishedForm(float(self.beta), convexity)
        return _MinimiserForm(float(self.beta), convexity, float(self.gradient_tol))

    @property
    def scale(self) -> float:
        """`intercept_scaling` in float64."""
        return float(self.intercept_scaling)

    @property
    def intercept_scale(self) -> float:
        return self.scale

    @property
    def theorem(self) -> str:
        return self._form.theorem

    def distance(self, fit: DeclaredFit) -> float:
        return self._form.distance(fit)

    def assumptions(self, fit: DeclaredFit) -> tuple[str, ...]:
        return (
            f"Declared and not verified: replacing any one record changes the loss of every record "
            f"by at most {self.beta:g}, on every data set and for every random choice of the "
            "training algorithm.",
            *self._form.assumptions(fit),
        )


@dataclass(frozen=True)
class _Form(ABC):
    """What beta and one more fact say of the distance."""

    beta: float

    @property
    @abstractmethod
    def theorem(self) -> str: ...

    @abstractmethod
    def distance(self, fit: DeclaredFit) -> float: ...

    @abstractmethod
    def assumptions(self, fit: DeclaredFit) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class _StronglyConvexForm(_Form):
    strong_convexity: float

    def assumptions(self, fit: DeclaredFit) -> tuple[str, ...]:
        near = getattr(self, "gradient_tol", 0.0)
        what = f"has a subgradient of norm at most {near:g}" if near else "is the exact minimiser"
        return (
            "Declared and not verified: the objective is "
            f"{self.strong_convexity:g}-strongly convex in every parameter, intercepts included, "
            f"and the model {what} of it on every data set.",
        )

    @staticmethod
    def require_convex(fit: DeclaredFit) -> None:
        if fit.linear_scores is None:
            raise UnknownStabilityError(
                "UniformStability(strong_convexity=...) is about minimisers of strongly convex "
                "objectives, which networks and other models without coef_ are not. Use "
                "ParameterStability(l2=...) for a bound on the parameters themselves."
            )


@final
@dataclass(frozen=True)
class _PublishedForm(_StronglyConvexForm):
    """``sqrt(2 beta / lambda)``."""

    @property
    def theorem(self) -> str:
        return (
            "sqrt(2 beta/lambda) for exact minimisers (Watson, Rozemberczki and Sarkar 2020, "
            "Theorem 7, as published: loose by the root of the number of records)"
        )

    def distance(self, fit: DeclaredFit) -> float:
        self.require_convex(fit)
        return math.sqrt(2 * self.beta / self.strong_convexity)


@final
@dataclass(frozen=True)
class _MinimiserForm(_StronglyConvexForm):
    """``(tau + sqrt(tau^2 + 2 lambda beta / n)) / lambda``."""

    gradient_tol: float

    @property
    def theorem(self) -> str:
        return (
            "(tau + sqrt(tau^2 + 2 lambda beta/n))/lambda for minimisers up to a subgradient of "
            "norm tau (Theorem 7 of Watson, Rozemberczki and Sarkar 2020, with strong convexity "
            "used at both minimisers)"
        )

    def distance(self, fit: DeclaredFit) -> float:
        self.require_convex(fit)
        if fit.n_samples is None:
            raise UnknownStabilityError(
                "UniformStability(gradient_tol=...) needs the number of records: declare n_samples."
            )
        tau, convexity = self.gradient_tol, self.strong_convexity
        return (tau + math.sqrt(tau**2 + 2 * convexity * self.beta / fit.n_samples)) / convexity


@final
@dataclass(frozen=True)
class _MarginForm(_Form):
    """``2 beta / (slope min(row_norm, intercept_scaling))``."""

    slope: float
    intercept_scaling: float

    @property
    def theorem(self) -> str:
        return (
            "2 beta/(slope min(row_norm, intercept_scaling)) for one linear score: the difference "
            "of the losses of both labels changes by at most 2 beta, and some row of the full ball "
            "turns the parameters' distance into a change of the score"
        )

    def distance(self, fit: DeclaredFit) -> float:
        if fit.linear_scores != 1:
            raise UnknownStabilityError(
                "UniformStability(margin_slope=...) is about one linear score: two classes, "
                "coef_ of one row. Use ParameterStability(l2=...) for several scores or networks."
            )
        width = min(fit.row_norm, self.intercept_scaling) if fit.fits_intercept else fit.row_norm
        return 2 * self.beta / (self.slope * width)

    def assumptions(self, fit: DeclaredFit) -> tuple[str, ...]:
        return (
            f"Declared and not verified: the loss is phi(y score) with phi(m) - phi(-m) of slope "
            f"{self.slope:g} or more, and the stability holds for every row of norm "
            f"{fit.row_norm:g}, whatever its direction, and both labels.",
        )
