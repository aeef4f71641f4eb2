"""What one record is: the unit that a guarantee protects."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from skdp.privacy import Neighbours

__all__ = ["UNITS", "Unit"]


@final
@dataclass(frozen=True)
class Unit:
    """A unit of privacy.

    Attributes
    ----------
    name : str
        What a statement calls it.
    by_document : bool
        Whether it is a whole document.
    facts : mapping of Neighbours to str
        What is public, and what a neighbour is.
    """

    name: str
    by_document: bool
    facts: Mapping[Neighbours, str]


def _facts(name: str, null: str) -> dict[Neighbours, str]:
    return {
        Neighbours.ZERO_OUT: f"The number of {name}s is public; a neighbour has one {name} "
        f"replaced by {null}.",
        Neighbours.REPLACE_ONE: f"The number of {name}s is public; a neighbour has one {name} "
        "replaced by any other.",
        Neighbours.ADD_OR_REMOVE_ONE: f"The number of {name}s is private: sampling probability, "
        "expected batch size, number of steps and all settings are constants that nobody computed "
        "from it.",
    }


UNITS = {
    "document": Unit(
        "document",
        True,
        _facts("document", "one that contributes nothing, as one without a word does here"),
    ),
    "example": Unit(
        "example",
        False,
        _facts("example", "none, in the same place")
        | {
            Neighbours.ZERO_OUT: "An example is one target word, one word of its context and "
            "negative samples; one document has very many of them, so this does not hide a "
            "document. The number of examples is public; a neighbour has one of them replaced by "
            "none, in the same place."
        },
    ),
}
