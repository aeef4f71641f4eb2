"""What was found out about the steps of a pipeline."""

from dataclasses import dataclass
from typing import Literal, final

Kind = Literal["data-independent", "private", "vouched for", "released before"]


@final
@dataclass(frozen=True)
class StepCheck:
    """Why one step may stand where it stands.

    Attributes
    ----------
    name : str
        Its place, outer__inner within another step.
    class_name : str
        Its class.
    kind : {"data-independent", "private", "vouched for", "released before"}
        Learns nothing from rows; spends a budget; is said by the user to learn nothing from private
        rows; was fitted privately earlier and is frozen.
    reason : str
        Why.
    """

    name: str
    class_name: str
    kind: Kind
    reason: str

    def __str__(self) -> str:
        return f"{self.name} ({self.class_name}): {self.kind}. {self.reason}"


@final
@dataclass(frozen=True)
class PipelineCheck:
    """The steps of a pipeline that may be fitted on private rows.

    Attributes
    ----------
    steps : tuple of StepCheck
        In the order in which they are fitted.
    """

    steps: tuple[StepCheck, ...]

    @property
    def private(self) -> tuple[str, ...]:
        """Names of the steps that spend a budget, in the order in which they do."""
        return tuple(step.name for step in self.steps if step.kind == "private")

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the user vouches for, a sentence for each such step."""
        return tuple(step.reason for step in self.steps if step.kind == "vouched for")

    def __str__(self) -> str:
        return "\n".join(map(str, self.steps))
