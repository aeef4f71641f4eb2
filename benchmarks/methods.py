"""What is compared on one split, each with its default settings.

Every contender gets the same rows, clipped to norm 1. The private ones are told this bound and,
where they can be, the public classes. All are calibrated for the neighbouring relation
replace-one: same public number of rows, one row different, delta 0. diffprivlib's documentation
names no relation; its noise is that of replace-one.

The claims are not equally well founded. diffprivlib perturbs the objective by Chaudhuri et al.
(2011), whose theorem asks for a strongly convex penalty on every coordinate and rows of norm at
most 1. Its intercept is not penalised, and a `data_norm` R other than 1 enters the curvature of the
loss as R where the proof has R squared. At ``data_norm=1`` without an intercept the assumptions
hold: the contender "diffprivlib, no intercept".
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from benchmarks.data import Split
from benchmarks.planned import PlannedFit
from skdp.linear_model import PrivateElasticNetClassifier

Fit = Callable[[Split, float], Any]

SKDP = "skdp"
PURE_L2 = "skdp, l1_ratio 0, intercept_scaling 0.3"
PUBLISHED = "published noise"
AS_PLANNED = "skdp, noise left out"
WEAK_PENALTY = "skdp objective, alpha = 1/n, not private"
DIFFPRIVLIB = "diffprivlib"
NO_INTERCEPT = "diffprivlib, no intercept"
SKLEARN = "scikit-learn, not private"
MAJORITY = "majority class"


@dataclass(frozen=True)
class Method:
    """A name, how to fit for a budget, and what its fits depend on."""

    name: str
    fit: Fit
    uses_epsilon: bool = True
    random: bool = True


def _skdp(**settings: Any) -> Fit:
    def fit(split: Split, epsilon: float) -> Any:
        model = PrivateElasticNetClassifier(
            epsilon=epsilon, row_norm=1.0, classes=split.classes, **settings
        )
        return model.fit(split.train, split.y_train)

    return fit


def _sklearn(split: Split, _: float) -> Any:
    return LogisticRegression(max_iter=1000).fit(split.train, split.y_train)


def _majority(split: Split, _: float) -> Any:
    return DummyClassifier(strategy="prior").fit(split.train, split.y_train)


def _diffprivlib(**settings: Any) -> Fit:
    def fit(split: Split, epsilon: float) -> Any:
        from diffprivlib.models import LogisticRegression as PrivateLogistic

        model = PrivateLogistic(epsilon=epsilon, data_norm=1.0, **settings)
        # It takes no sparse rows.
        rows = split.train.toarray() if sparse.issparse(split.train) else split.train
        with warnings.catch_warnings():
            # Iteration limits and line searches under noise; nothing that the user could set.
            warnings.simplefilter("ignore")
            return model.fit(rows, split.y_train)

    return fit


METHODS = (
    Method(SKDP, _skdp()),
    Method(PURE_L2, _skdp(l1_ratio=0.0, intercept_scaling=0.3)),
    Method(PUBLISHED, _skdp(bound="paper", noise="laplace")),
    Method(
        AS_PLANNED,
        lambda split, epsilon: PlannedFit(split, epsilon).without_noise(),
        random=False,
    ),
    Method(DIFFPRIVLIB, _diffprivlib()),
    Method(NO_INTERCEPT, _diffprivlib(fit_intercept=False)),
    Method(SKLEARN, _sklearn, uses_epsilon=False, random=False),
    Method(
        WEAK_PENALTY,
        lambda split, _: PlannedFit(split, choice=1 / len(split.y_train)).without_noise(),
        uses_epsilon=False,
        random=False,
    ),
    Method(MAJORITY, _majority, uses_epsilon=False, random=False),
)


def methods(only: str = "") -> list[Method]:
    """All methods, or those that `only` names: "skdp", "diffprivlib", "scikit-learn", ..."""
    if not only:
        return list(METHODS)
    return [m for m in METHODS if any(m.name.startswith(name) for name in only.split(","))]


def diffprivlib_problem() -> str | None:
    """Say why diffprivlib cannot be used here; None if it can."""
    try:
        import diffprivlib.models  # noqa: F401
    except ImportError as error:
        return (
            f"diffprivlib does not import here ({error}). It needs scikit-learn 1.7:\n"
            'python -m pip install -e ".[diffprivlib]", in an environment of its own'
        )
    return None
