"""What is compared on wide rows: dense noise and every selector, with and without re-clipping.

All of skdp's are `SparseDPSGDClassifier` with delta 1e-6 and default settings but for what the
name says; "re-clipped" is ``selected_grad_norm=0.3``, "two releases" ``selection_share=0.7`` (the
default for "gaussian" makes one release of both). Poisson batches; the neighbouring relation of all
private methods is zero-out (public number of rows, one row replaced by an empty one), which is also
what Opacus's accountant covers. The settings in the names were tried on these data sets.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from benchmarks.data import Split

DELTA = 1e-6
RECLIPPED_NORM = 0.3
LARGER_SHARE = 0.7
SMALLER_NORM = 0.5

DENSE = "noise on all (default)"
SMALLER = "noise on all, max_grad_norm 0.5"
SKLEARN = "scikit-learn, not private"
MAJORITY = "majority class"
RECLIPPED = ", re-clipped"
TWO_RELEASES = "gaussian, two releases"
SELECTORS = (
    "gaussian",
    "exponential",
    "adafest",
    "noisy_max",
    "sparse_vector",
    "permute_and_flip",
)
REFINED = ("gaussian", "exponential", "adafest")


@dataclass(frozen=True)
class Method:
    """A name, how to fit for a budget, and whether its fits depend on epsilon."""

    name: str
    fit: Callable[[Split, float], Any]
    uses_epsilon: bool = True


def _skdp(**settings: Any) -> Callable[[Split, float], Any]:
    def fit(split: Split, epsilon: float) -> Any:
        # Late: scripts that only join files do not need it.
        from skdp.linear_model import SparseDPSGDClassifier

        model = SparseDPSGDClassifier(
            epsilon=epsilon, delta=DELTA, classes=split.classes, **settings
        )
        return model.fit(split.train, split.y_train)

    return fit


def _sklearn(split: Split, _: float) -> Any:
    return LogisticRegression(max_iter=1000).fit(split.train, split.y_train)


def _majority(split: Split, _: float) -> Any:
    return DummyClassifier(strategy="prior").fit(split.train, split.y_train)


METHODS = (
    Method(DENSE, _skdp()),
    Method(SMALLER, _skdp(max_grad_norm=SMALLER_NORM)),
    *(Method(name, _skdp(selector=name)) for name in SELECTORS),
    *(
        Method(name + RECLIPPED, _skdp(selector=name, selected_grad_norm=RECLIPPED_NORM))
        for name in REFINED
    ),
    Method(TWO_RELEASES, _skdp(selector="gaussian", selection_share=LARGER_SHARE)),
    Method(SKLEARN, _sklearn, uses_epsilon=False),
    Method(MAJORITY, _majority, uses_epsilon=False),
)


def methods(only: str = "") -> list[Method]:
    """All methods, or those whose names `only` lists, by semicolons."""
    return [method for method in METHODS if not only or method.name in only.split(";")]
