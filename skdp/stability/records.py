"""What is known of a class of models: a proved bound, or why there is none."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from skdp.exceptions import UnknownStabilityError
from skdp.stability.reading import Facts, ModelReading


@dataclass(frozen=True)
class StabilityRecord(ABC):
    """An entry of the registry.

    Parameters
    ----------
    model : type or str
        The exact class of a proved bound, or the name of a class of scikit-learn or a technique
        that is refused. A subclass inherits nothing.
    """

    model: type | str

    @property
    def name(self) -> str:
        """Name of the class or of the technique."""
        return self.model if isinstance(self.model, str) else self.model.__name__

    @property
    @abstractmethod
    def proved(self) -> bool:
        """Whether a bound is proved."""

    @abstractmethod
    def reading(self, model: Any, facts: Facts) -> ModelReading:
        """Read a model's parameters, or raise UnknownStabilityError with the reason."""


@final
@dataclass(frozen=True)
class ProvedBound(StabilityRecord):
    """A class whose penalised minimiser moves by a proved distance when one record is replaced.

    Parameters
    ----------
    read : callable
        Turns parameters and public facts into a `ModelReading`, or refuses.
    objective : str
        What is minimised, as scikit-learn writes it.
    bound : str
        The L2 bound on the distance, replace-one, W the largest weight of a record.
    source : str
        Where it is proved.
    solver_parameters : tuple of str
        What decides where the model's own solver stops.
    """

    read: Callable[[Any, Facts], ModelReading]
    objective: str
    bound: str
    source: str
    solver_parameters: tuple[str, ...]

    proved = True

    def reading(self, model: Any, facts: Facts) -> ModelReading:
        return self.read(model, facts)

    def refuse_own_solver(self, model: Any) -> None:
        """Refuse to take the model's own result for the minimiser."""
        settings = ", ".join(f"{name}={getattr(model, name)!r}" for name in self.solver_parameters)
        raise UnknownStabilityError(
            f"certify=False takes the result of {self.name}'s own solver, and with {settings} no "
            "worst-case bound says how far from the minimiser it stops: that depends on the data. "
            "Set certify=True, or declare stability=... yourself."
        )


@final
@dataclass(frozen=True)
class RefusedModel(StabilityRecord):
    """A class or technique without a worst-case bound.

    Parameters
    ----------
    reason : str
        Why there is none.
    instead : str
        What to use.
    """

    reason: str
    instead: str

    proved = False

    def reading(self, model: Any, facts: Facts) -> ModelReading:
        raise UnknownStabilityError(f"{self.name}: {self.reason} {self.instead}")
