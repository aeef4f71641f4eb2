"""Cases of `benchmarks/audits.py` with worst-case pairs and events by theory, and with controls.

Deltas are 0.1 where there is one: noise comes from the same formulas as for a small delta, and few
fits show what there is. In the control of a case the noise is a half of what is claimed, or a
quarter or a sixth. An audit that does not find it out has too little power, which the page says.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from benchmarks.audit_cases import Case, one_line
from benchmarks.audit_theory import SearchLaw, chosen_by_exponential
from skdp.audit import NeighbouringPair, worst_case_neighbours
from skdp.privacy.gaussian_curve import gaussian_epsilon, gaussian_mu
from skdp.privacy.trial_laws import TrialLaw

_BUDGET = {"epsilon": 3.0, "delta": 0.1}
_WORDS = ["ant", "bee", "cat", "dog", "elk", "fox"]
#: So many times the epsilon is spent in the control of a search.
_LOUDER = 6.0
#: So rare a word is no negative sample of another one.
_COUNTS = {"ant": 1, "bee": 1, "cat": 1, "dog": 1, "elk": 10**6, "fox": 10**6}


def descents(n_fits: int) -> Iterator[Case]:
    """Linear models that release a sum of all clipped gradients in each of many steps."""
    from skdp.linear_model import PrivateLinearClassifier, PrivateLinearRegressor

    n = 24
    private = {"neighbours": "add-or-remove-one", "expected_samples": n}
    replaced = {"neighbours": "replace-one"}
    for kind, options in (
        (PrivateLinearClassifier, {"classes": [0, 1], **private}),
        (PrivateLinearClassifier, {"classes": [0, 1], **replaced}),
        (PrivateLinearClassifier, {"classes": [0, 1]}),
        (PrivateLinearRegressor, private),
        (PrivateLinearRegressor, replaced),
    ):
        budget = _BUDGET if "neighbours" in options else {"epsilon": 1.0, "delta": 0.1}
        model = kind(mechanism="descent", **budget, **options)
        pairs = {pair.name: pair for pair in worst_case_neighbours(model, n_rows=n)}
        name = next(name for name in pairs if name.startswith(_TELLING))
        yield _gaussian_case(model, pairs[name], n_fits, _unbent(model, n), 0.25, 200)


_TELLING = ("label against all others", "label among equals", "a column of its own")


def _unbent(model: Any, n_records: int) -> float:
    """Epsilon that the last weights show if a record pulls alike in all steps, and nothing else.

    Weights are a sum of the noisy gradients with factors a_t, of which
    mu = mu_steps (sum a_t) / (T sum a_t^2)^(1/2) can be seen.
    """
    from skdp.training.descent import DescentFacts, DescentRun

    regression = not hasattr(model, "classes")
    facts = DescentFacts(
        n_records, 2 if regression else 1, 1, model.epsilon, model.delta,
        _relation(model), 1.0 if regression else 0.25, regression, False,
    )  # fmt: skip
    run = DescentRun.planned(facts, model._budget(), 1.0)
    factors = np.empty(run.plan.n_steps)
    for pulled in range(len(factors)):
        optimizer = run.optimizer(run.descent, np.zeros(1))
        for step in range(len(factors)):
            optimizer.apply(np.array([float(step == pulled)]))
        factors[pulled] = optimizer.result()[0]
    seen = factors.sum() ** 2 / (len(factors) * np.square(factors).sum())
    whole = gaussian_mu(model.epsilon, model.delta)
    steps = whole**2 - facts.statistics_mu**2 - facts.moment_mu**2
    return gaussian_epsilon(math.sqrt(steps * seen), model.delta)


def _relation(model: Any) -> Any:
    from skdp.privacy import Neighbours

    return Neighbours(model.neighbours)


def embeddings(n_fits: int) -> Iterator[Case]:
    """Word vectors of either unit, and vocabularies; a document is there, or empty.

    Vectors begin where a fit from the same seed with a vanishing learning rate ends. They hardly
    move, so that a document has the same gradient in each step; and noise adds up as it does.
    """
    from skdp.embedding import PrivateCBOW, PrivateVocabulary

    for neighbours in ("zero-out", "add-or-remove-one"):
        chosen = PrivateVocabulary(
            len(_WORDS), candidates=_WORDS, max_contributions=6, neighbours=neighbours, **_BUDGET
        )
        (pair,) = worst_case_neighbours(chosen)
        yield _gaussian_case(chosen, pair, n_fits, _BUDGET["epsilon"])
    given = {
        "vector_size": 2, "window": 1, "negative": 1, "vocabulary": _COUNTS, "ns_exponent": 1.0,
        "max_grad_norm": 0.3, "init_scale": 1.0, "optimizer": "sgd", "learning_rate": 1e-6,
        "n_epochs": 1,
    }  # fmt: skip
    one_row = {"n_selected": 1, "sampling": "full"}
    for options, theory in (
        ({"sampling": "full"}, _BUDGET["epsilon"]),
        ({"sampling": "full", "n_epochs": 20}, _BUDGET["epsilon"]),
        ({"sampling": "shuffled", "batch_size": 2, "n_epochs": 5}, None),
        ({"sampling": "poisson", "batch_size": 2}, None),
        ({"sampling": "full", "optimizer": "adam"}, None),
        ({"selector": "gaussian", **one_row}, None),
        ({"selector": "exponential", **one_row}, None),
        ({"selector": "adafest", **one_row}, None),
        ({"unit": "example", "sampling": "fixed_size", "batch_size": 2}, None),
    ):
        model = PrivateCBOW(**_BUDGET, **{**given, **options})
        pair = worst_case_neighbours(model, n_rows=4)[-1]
        control = (0.5, 400) if theory is not None else (0.25, 200)
        yield _gaussian_case(model, pair, n_fits, theory, *control)


def _gaussian_case(
    model: Any,
    pair: NeighbouringPair,
    n_fits: int,
    theory: float | None,
    noise_share: float = 0.5,
    control_fits: int = 400,
) -> Case:
    mu = gaussian_mu(model.epsilon, model.delta) / noise_share
    control = clone(model).set_params(epsilon=gaussian_epsilon(mu, model.delta))
    return Case(
        "skdp", one_line(model), model, pair, n_fits, True, theory, control, noise_share,
        control_fits,
    )  # fmt: skip


@dataclass(frozen=True)
class Winner:
    """Whether the odd candidate won, and its score: points beyond those that all earn.

    Attributes
    ----------
    parameter : str
        Whose value tells the odd candidate.
    value : float
        That of the odd candidate.
    shared : int
        Points that every candidate earns on the other rows.
    held_out : int
        Rows that are held out.
    """

    parameter: str
    value: float
    shared: int
    held_out: int

    def __call__(self, model: Any) -> Any:
        """Return both, shape (2,); a score that is not released is 0."""
        score = np.nan_to_num(model.best_score_ * self.held_out - self.shared)
        return np.array([float(model.best_params_[self.parameter] == self.value), score])


def odd_and_score(outputs: Any) -> Any:
    """Who won, and the score; of all fits, behind their two columns."""
    return outputs[:, 2] == 1.0, outputs[:, 3]


def searches(n_fits: int) -> Iterator[Case]:
    """Searches in which a row that is held out decides who wins.

    All other rows are alike, and so are their points. The scale of the intercept decides what is
    predicted for the canary, on the other side of 0, where the score is the intercept less the
    coefficient: one candidate has a large one. Of numbers, one candidate predicts 0, the others 1,
    which earns the canary a point if it is there.
    """
    from skdp.linear_model import PrivateElasticNet, PrivateElasticNetClassifier
    from skdp.model_selection import PrivateGridSearchCV, PrivateRandomizedSearchCV

    of_classes = PrivateElasticNetClassifier(alpha=10.0, l1_ratio=0.0, classes=[0, 1])
    scales = [
        {"intercept_scaling": [3.0], "alpha": [10.0]},
        {"intercept_scaling": [0.3], "alpha": [10.0, 10.5]},
    ]
    given = {"epsilon": 2.0, "held_out": 0.9, "n_trials": 2.0}
    n, classes = 600, ([1, 1], [0, 1])
    grid = PrivateGridSearchCV(of_classes, scales, **given)
    yield _search_case(grid, "intercept_scaling", 3.0, n, classes, n_fits)
    drawn = PrivateRandomizedSearchCV(
        of_classes, scales, n_iter=3, trials="poisson", **{**given, "delta": 1e-6}
    )
    yield _search_case(drawn, "intercept_scaling", 3.0, n, classes, n_fits)
    of_numbers = PrivateElasticNet(alpha=2.0, l1_ratio=0.0)
    strengths = [{"alpha": [1e6]}, {"alpha": [2.0, 2.1]}]
    numbers = PrivateRandomizedSearchCV(of_numbers, strengths, n_iter=3, error_bound=0.5, **given)
    yield _search_case(numbers, "alpha", 1e6, n, ([0.0, 5.0], [1.0, 5.0]), n_fits)
    many = [scales[0], {**scales[1], "alpha": [10.0, 10.5, 11.0, 11.5, 12.0]}]
    picked = PrivateGridSearchCV(of_classes, many, strategy="exponential", **given)
    yield _search_case(picked, "intercept_scaling", 3.0, 6 * n, classes, 2 * n_fits)


def _search_case(search: Any, parameter: str, odd: float, n: int, labels: Any, n_fits: int) -> Case:
    data, neighbour = (_rows(n, *some, parameter == "alpha") for some in labels)
    n_held_out = round(search.held_out * n)
    shared = 0 if parameter == "alpha" else n_held_out - 1
    release = Winner(parameter, odd, shared, n_held_out)
    control = clone(search).set_params(epsilon=_LOUDER * search.epsilon)
    if search.strategy == "exponential":
        theory, events = chosen_by_exponential(search.epsilon, 6, search.held_out), (_won, _won)
    else:
        laws = [
            SearchLaw(_trials(some), 3, _epsilon_of_scores(some, data), some.held_out)
            for some in (search, control)
        ]
        theory = laws[0].largest
        events = tuple(
            law.event(n, odd_and_score) for law, n in zip(laws, (n_fits, 100), strict=True)
        )
    pair = NeighbouringPair(
        "row that decides", data, neighbour, "scores that are not noisy", 1, events[0], release
    )
    return Case(
        "skdp", one_line(search), search, pair, n_fits, True, theory, control, 1 / _LOUDER, 100,
        events[1],
    )  # fmt: skip


def _won(outputs: Any) -> Any:
    return outputs[:, 2]


def _rows(n: int, own: float, other: float, alike: bool) -> Any:
    X, y = np.full((n, 1), -1.0), np.full(n, other)
    X[0], y[0] = -1.0 if alike else 1.0, own
    return X, y


def _trials(search: Any) -> TrialLaw:
    return TrialLaw(search.n_trials, math.inf if search.trials == "poisson" else 0.0)


def _epsilon_of_scores(search: Any, data: Any) -> float:
    return float(clone(search).fit(*data).privacy_.curve.event.epsilon)
