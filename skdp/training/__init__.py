"""Private iterative training: noise in every step, and one account of all of them."""

from skdp.training.batch_sampling import (
    FixedSizeWithoutReplacement,
    FullBatch,
    RoundRobinBlocks,
    ShuffledBatches,
)
from skdp.training.gradients import PerRecordGradients
from skdp.training.optimizers import SGD, Adam, Descent, Optimizer
from skdp.training.plan import TrainingPlan
from skdp.training.poisson_sampling import PoissonSampler
from skdp.training.private_loop import dpsgd
from skdp.training.sampling import Sampler
from skdp.training.schedules import ConstantNoise, NoiseSchedule
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

__all__ = [
    "SGD",
    "Adam",
    "AllCoordinates",
    "ConstantNoise",
    "CoordinateSelector",
    "Descent",
    "ExponentialSelector",
    "FixedSizeWithoutReplacement",
    "FullBatch",
    "GaussianSelector",
    "NoiseSchedule",
    "NoisyMaxSelector",
    "Optimizer",
    "PerRecordGradients",
    "PermuteAndFlipSelector",
    "PoissonSampler",
    "RoundRobinBlocks",
    "Sampler",
    "ShuffledBatches",
    "SparseVectorSelector",
    "SurvivorSelector",
    "TrainingPlan",
    "dpsgd",
]
