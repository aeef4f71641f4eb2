"""What is minimised: losses, penalties and their sum."""

from skdp.objectives.further_losses import LogCosh
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
from skdp.objectives.tilt import Tilt

__all__ = [
    "ElasticNet",
    "Huber",
    "HuberHinge",
    "LogCosh",
    "Logistic",
    "Loss",
    "Multinomial",
    "Objective",
    "Squared",
    "SquaredHinge",
    "Tilt",
]
