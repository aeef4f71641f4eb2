"""Private iterative training: noise in every step, and one account of all of them."""

from skdp.training.adaptive_run import AdaptiveRun, adaptive_dpsgd
from skdp.training.batch_sampling import (
    FixedSizeWithoutReplacement,
    FullBatch,
    RoundRobinBlocks,
    ShuffledBatches,
)
from skdp.training.budgets import EpochsWithin, epochs_within, longest
from skdp.training.gradients import PerRecordGradients
from skdp.training.optimizers import SGD, Adam, Descent, Momentum, Optimizer
from skdp.training.plan import TrainingPlan
from skdp.training.poisson_sampling import PoissonSampler
from skdp.training.private_loop import dpsgd
from skdp.training.sampling import Sampler
from skdp.training.schedules import (
    ConstantNoise,
    ConstantThen,
    EpochSchedule,
    ExponentialDecay,
    NoiseSchedule,
    PolynomialDecay,
    StepDecay,
    TimeDecay,
)
from skdp.training.selectors import (
    AllCoordinates,
    CoordinateSelector,
    ExponentialSelector,
    GaussianSelector,
    NoisyMaxSelector,
    PermuteAndFlipSelector,
    SparseVectorSelector,
    SurvivorSelector,
)
from skdp.training.validation_noise import ValidationDecay

__all__ = [
    "SGD",
    "Adam",
    "AdaptiveRun",
    "AllCoordinates",
    "ConstantNoise",
    "ConstantThen",
    "CoordinateSelector",
    "Descent",
    "EpochSchedule",
    "EpochsWithin",
    "ExponentialDecay",
    "ExponentialSelector",
    "FixedSizeWithoutReplacement",
    "FullBatch",
    "GaussianSelector",
    "Momentum",
    "NoiseSchedule",
    "NoisyMaxSelector",
    "Optimizer",
    "PerRecordGradients",
    "PermuteAndFlipSelector",
    "PoissonSampler",
    "PolynomialDecay",
    "RoundRobinBlocks",
    "Sampler",
    "ShuffledBatches",
    "SparseVectorSelector",
    "StepDecay",
    "SurvivorSelector",
    "TimeDecay",
    "TrainingPlan",
    "ValidationDecay",
    "adaptive_dpsgd",
    "dpsgd",
    "epochs_within",
    "longest",
]
