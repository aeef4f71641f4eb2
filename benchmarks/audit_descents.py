"""Cases of `benchmarks/audits.py`: linear models that release clipped gradients step by step."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.audit_cases import Case
from benchmarks.audit_powerful import BUDGET, with_control
from skdp.audit import worst_case_neighbours
from skdp.linear_model import PrivateLinearClassifier, PrivateLinearRegressor
from skdp.privacy import Neighbours, PrivacyBudget
from skdp.privacy.gaussian_curve import gaussian_epsilon, gaussian_mu
from skdp.training.descent import DescentFacts, DescentRun

#: Rows of the data sets.
ROWS = 24
_TELLING = ("label against all others", "label among equals", "a column of its own")
_NOISE_SHARE, _CONTROL_FITS = 0.25, 600


class _QuietSteps:
    """Steps add less noise than is claimed; settings, and what is released before, stay.

    A larger epsilon would change them: a regressor would learn the label of a canary, whose pull
    would end.
    """

    def _budget(self) -> PrivacyBudget:
        whole, before = _mu_of(self)
        steps = (whole**2 - before**2) / _NOISE_SHARE**2
        epsilon = gaussian_epsilon(math.sqrt(before**2 + steps), self.delta)
        return PrivacyBudget(epsilon, self.delta)


class QuietClassifier(_QuietSteps, PrivateLinearClassifier):
    """A classifier whose steps add a share of the noise."""


class QuietRegressor(_QuietSteps, PrivateLinearRegressor):
    """A regressor whose steps add a share of the noise."""


def descents(n_fits: int) -> Iterator[Case]:
    """Linear models that release a sum of all clipped gradients in each of many steps."""
    private = {"neighbours": "add-or-remove-one", "expected_samples": ROWS}
    replaced = {"neighbours": "replace-one"}
    for kind, quiet, options in (
        (PrivateLinearClassifier, QuietClassifier, {"classes": [0, 1], **private}),
        (PrivateLinearClassifier, QuietClassifier, {"classes": [0, 1], **replaced}),
        (PrivateLinearClassifier, QuietClassifier, {"classes": [0, 1]}),
        (PrivateLinearRegressor, QuietRegressor, private),
        (PrivateLinearRegressor, QuietRegressor, replaced),
    ):
        budget = BUDGET if "neighbours" in options else {"epsilon": 1.0, "delta": 0.1}
        options = {"mechanism": "descent", **budget, **options}
        model = kind(**options)
        pairs = {pair.name: pair for pair in worst_case_neighbours(model, n_rows=ROWS)}
        pair = next(pairs[name] for name in pairs if name.startswith(_TELLING))
        theory = gaussian_epsilon(seen_mu(model), model.delta)
        yield with_control(
            model, pair, n_fits, theory, quiet(**options), _NOISE_SHARE, _CONTROL_FITS
        )


def seen_mu(model: Any) -> float:
    """What the last weights show if a record pulls alike in all steps, and nothing else.

    Weights are a sum of the noisy gradients with factors a_t, of which
    mu = mu_steps (sum a_t) / (T sum a_t^2)^(1/2) can be seen.
    """
    run = DescentRun.planned(_facts(model), PrivacyBudget(model.epsilon, model.delta), 1.0)
    factors = np.empty(run.plan.n_steps)
    for pulled in range(len(factors)):
        optimizer = run.optimizer(run.descent, np.zeros(1))
        for step in range(len(factors)):
            optimizer.apply(np.array([float(step == pulled)]))
        factors[pulled] = optimizer.result()[0]
    seen = factors.sum() ** 2 / (len(factors) * np.square(factors).sum())
    whole, before = _mu_of(model)
    return math.sqrt((whole**2 - before**2) * seen)


def _mu_of(model: Any) -> tuple[float, float]:
    """Of all releases, and of those before the steps."""
    facts = _facts(model)
    before = math.hypot(facts.statistics_mu, facts.moment_mu)
    return gaussian_mu(model.epsilon, model.delta), before


def _facts(model: Any) -> DescentFacts:
    regression = not hasattr(model, "classes")
    smoothness = 1.0 if regression else 0.25
    return DescentFacts(
        ROWS, 2 if regression else 1, 1, model.epsilon, model.delta, Neighbours(model.neighbours),
        smoothness, regression, False,
    )  # fmt: skip
