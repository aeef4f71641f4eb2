"""What is minimised: losses, penalties and their sum."""

from skdp.objectives.losses import (
    Huber,
    HuberHinge,
    Logistic,
    Loss,
    Multinomial,
    Squared,
    SquaredHinge,
)
from skdp.objectives.objective import Objective
from skdp.objectives.penalties import ElasticNet

__all__ = [
    "ElasticNet",
    "Huber",
    "HuberHinge",
    "Logistic",
    "Loss",
    "Multinomial",
    "Objective",
    "Squared",
    "SquaredHinge",
]
