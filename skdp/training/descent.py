"""Descent on all records at once, after what standardises them has been released."""

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple, Self, final

import numpy as np

from skdp._random import RandomSource
from skdp.mechanisms.additive import EPSILON_CAP
from skdp.objectives.losses import Loss
from skdp.privacy import Neighbours, PrivacyBudget
from skdp.privacy.gaussian_curve import gaussian_mu
from skdp.training.batch_sampling import FullBatch
from skdp.training.glm import GlmGradients
from skdp.training.gradients import Array
from skdp.training.iterate_noise import NoisyWeights, iterate_deviation
from skdp.training.optimizers import Descent, Momentum
from skdp.training.plan import TrainingPlan
from skdp.training.poisson_sampling import PoissonSampler
from skdp.training.private_loop import dpsgd
from skdp.training.run import TrainingRun
from skdp.training.sampling import Sampler
from skdp.training.schedules import ConstantNoise
from skdp.training.selectors import AllCoordinates
from skdp.training.standardise import SPREAD, Preparation

__all__ = ["DescentFacts", "DescentRun", "LinearModel"]

MOMENTUM = 0.9
#: Parts of mu^2 that the sums of rows and labels, and the second moment of rows, take.
_STATISTICS_SHARE, _LABELS_SHARE, _MOMENT_SHARE = 0.1, 0.05, 0.15
#: Rows are whitened where n mu is at least so many times d^1.5.
_WHITENED = 1.5
_LARGEST_WHITENED = 2000
_EXPONENT = 0.8
#: Where classes are so unequal, descent goes at most so many times as far.
FARTHEST = 2.0
_FEWEST_STEPS, _MOST_STEPS = 80, 120
#: From so many numbers on records are sampled, if not too many of them: batches are so large that
#: the noise multiplier is about 2, so that sampling costs 7 % of noise.
_LARGEST_FULL = 2**21
_RATE_PER_MU, _LARGEST_RATE, _FEWEST_TURNS, _MOST_TURNS = 1.9, 0.3, 5, 5


class LinearModel(NamedTuple):
    """Coefficients (n_features, n_outputs) and intercepts (n_outputs,), for rows as they came.

    `noisy` is what they were before the units of rows were put back, if the loss has log odds.
    """

    coef: Array
    intercept: Array
    noisy: NoisyWeights | None = None

    def in_units_of(self, row_norm: float) -> Self:
        """Return the model for rows that were divided by `row_norm` before."""
        return self._replace(coef=self.coef / row_norm)


@final
@dataclass(frozen=True)
class DescentFacts:
    """What is known before the data is looked at, and the settings that follow from it.

    Attributes
    ----------
    n_records, n_features, n_outputs : int
    epsilon, delta : float
    neighbours : Neighbours
    smoothness : float
        Bound on the second derivative of the loss with respect to the scores.
    has_labels : bool
        Whether labels are real numbers, to be standardised too.
    is_sparse : bool
        Whether rows stay as they are, sparse.
    """

    n_records: int
    n_features: int
    n_outputs: int
    epsilon: float
    delta: float
    neighbours: Neighbours
    smoothness: float
    has_labels: bool
    is_sparse: bool

    @property
    def mu(self) -> float:
        """Of the Gaussian release that all may be as telling as, for a record more or less."""
        whole = gaussian_mu(min(self.epsilon, EPSILON_CAP), self.delta)
        return whole / 2 if self.neighbours is Neighbours.REPLACE_ONE else whole

    @property
    def signal(self) -> float:
        """N mu: a mean over all records in units of the noise that it would get."""
        return self.n_records * self.mu

    @property
    def whitens(self) -> bool:
        """Whether the second moment of rows is released: its noise grows like d^1.5."""
        d = self.n_features
        return not self.is_sparse and d <= _LARGEST_WHITENED and self.signal >= _WHITENED * d**1.5

    @property
    def balances(self) -> bool:
        """Whether the share of two classes is released, to go farther where it is uneven."""
        return self.is_sparse and not self.has_labels and self.n_outputs == 1

    @property
    def label_moments(self) -> Literal[0, 1, 2]:
        """How many sums of powers of labels are released: means of classes need no squares."""
        if self.has_labels:
            return 2
        return 1 if self.balances else 0

    @property
    def statistics_mu(self) -> float:
        share = _STATISTICS_SHARE + (_LABELS_SHARE if self.label_moments else 0.0)
        return self._whole_mu * math.sqrt(share)

    @property
    def moment_mu(self) -> float:
        return self._whole_mu * math.sqrt(_MOMENT_SHARE) if self.whitens else 0.0

    @property
    def clip(self) -> float:
        """Norm to which gradients are clipped."""
        return (1.0 if self.has_labels else 0.5) * SPREAD

    @property
    def travel(self) -> float:
        """Sum of the learning rates."""
        signal = self.signal * math.sqrt(1 - _STATISTICS_SHARE) * SPREAD / self.clip
        if self.has_labels:
            return float(0.6 * signal**0.95)
        return float(4.0 * signal**_EXPONENT)

    @property
    def n_steps(self) -> int:
        wanted = math.ceil(self.travel * (1 - MOMENTUM) / self._longest_step)
        return min(max(wanted, _FEWEST_STEPS), _MOST_STEPS)

    @property
    def learning_rate(self) -> float:
        rate = self.travel * (1 - MOMENTUM) / self.n_steps
        return min(rate / SPREAD**2, self.largest_rate)

    @property
    def largest_rate(self) -> float:
        """Step size beyond which descent would go to and fro."""
        return self._longest_step / SPREAD**2

    @property
    def _longest_step(self) -> float:
        spread = self.n_features / 8 if self.whitens else 1.0
        return 1.5 / self.smoothness * min(max(spread, 1.0), 2.0)

    @property
    def _whole_mu(self) -> float:
        return gaussian_mu(min(self.epsilon, EPSILON_CAP), self.delta)

    @property
    def sampling_rate(self) -> float:
        """Share of the records that a step sees: all, where that takes little time."""
        small = self.n_records * self.n_features * self.n_outputs < _LARGEST_FULL
        rate = max(_RATE_PER_MU * self.mu / math.sqrt(self.n_steps), _FEWEST_TURNS / self.n_steps)
        if self.whitens:  # noise is small, and may be a little larger for the sake of time
            rate = min(rate, _MOST_TURNS / self.n_steps)
        return 1.0 if small or rate > _LARGEST_RATE else rate

    def sampler(self) -> Sampler:
        """Return what draws the records of each step."""
        rate = self.sampling_rate
        if rate == 1.0 and self.neighbours is not Neighbours.ADD_OR_REMOVE_ONE:
            return FullBatch(self.n_records, self.neighbours)
        batch = max(1.0, float(round(rate * self.n_records)))
        return PoissonSampler(min(1.0, batch / self.n_records), batch, self.neighbours)


@final
@dataclass(frozen=True)
class DescentRun(TrainingRun):
    """A run of full-batch descent.

    Attributes
    ----------
    preparation : Preparation
        What is released of the records before.
    balances : bool
        Whether targets are -1 and 1, and their mean is released with them.
    largest_rate : float
        Step size that is not exceeded.
    """

    preparation: Preparation
    balances: bool
    largest_rate: float

    @classmethod
    def planned(cls, facts: DescentFacts, budget: PrivacyBudget, row_norm: float) -> Self:
        """Return the calibrated run that these facts call for."""
        preparation = Preparation.planned(
            facts.n_records,
            facts.n_features,
            row_norm,
            facts.neighbours,
            label_moments=facts.label_moments,
            is_sparse=facts.is_sparse,
            statistics_mu=facts.statistics_mu,
            moment_mu=facts.moment_mu,
        )
        plan = TrainingPlan(
            facts.sampler(),
            AllCoordinates(),
            ConstantNoise(),
            facts.clip,
            facts.n_steps,
            (facts.n_features + 1) * facts.n_outputs,
            prior=preparation.event,
            prior_theorem=preparation.theorem,
        )
        return cls(
            plan=plan.calibrated(budget),
            optimizer=partial(Momentum, momentum=MOMENTUM),
            learning_rate=facts.learning_rate,
            decay=0.0,
            average=True,
            n_free=facts.n_outputs,
            preparation=preparation,
            balances=facts.balances,
            largest_rate=facts.largest_rate,
        )

    def train(
        self, X: Any, targets: Array, labels: Array | None, loss: Loss, rng: RandomSource
    ) -> LinearModel:
        """Return the released model.

        Parameters
        ----------
        X : ndarray of float64 or CSR matrix
            Rows in units of their declared bound, of norm at most 1.
        targets : ndarray of shape (n_records,)
            As `loss` wants them; not used with `labels`.
        labels : ndarray of shape (n_records,) or None
            Labels of a regression, in [-1, 1].
        loss : Loss
        rng : RandomSource
        """
        told = targets if self.balances else labels
        standard, label = self.preparation.release(X, told, rng.spawn())
        descent = self.descent
        if self.balances and label is not None:
            descent = self._farther(label.middle).descent
            label = None
        if label is not None and labels is not None:
            targets = (labels - label.middle) / label.unit
        gradients = GlmGradients(standard.rows(X), targets, loss, fit_intercept=True)
        optimizer = self.optimizer(descent, np.zeros(self.plan.size))
        released = dpsgd(self.plan, gradients, optimizer, rng.spawn())
        weights = released.reshape(-1, loss.n_outputs)
        coef, intercept = standard.folded(weights[:-1], weights[-1])
        if label is None:
            return LinearModel(coef, intercept, self._noisy(weights, descent))
        return LinearModel(label.unit * coef, label.unit * intercept + label.middle)

    def _noisy(self, weights: Array, descent: Descent) -> NoisyWeights:
        clip = self.plan.max_grad_norm
        noise = clip * np.array(list(self.plan.multipliers()))
        deviation = iterate_deviation(descent, noise, MOMENTUM)
        return NoisyWeights(deviation, SPREAD, weights, clip)

    def _farther(self, mean: float) -> Self:
        """Return the run with longer steps for labels -1 and 1 of this mean.

        Once descent has learnt the shares p and 1 - p of the classes, the log loss is p (1 - p)
        times as curved as its scores differ, and pulls as much weaker: it takes 1 / (4 p (1 - p))
        times as long to get as far as with equal shares. The root of that is taken, since noise
        goes as far too.
        """
        factor = 1 / math.sqrt(max(1 - mean**2, 1 / FARTHEST**2))
        return replace(self, learning_rate=min(factor * self.learning_rate, self.largest_rate))
