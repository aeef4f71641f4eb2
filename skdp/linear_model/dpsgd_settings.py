"""From the parameters of a DP-SGD estimator to the objects that run: the border of strings."""

from skdp._sgd.settings import (
    OPTIMIZERS,
    UNAMPLIFIED,
    calibrated_plan,
    refuse_idle_batch_size,
    sampler_and_facts,
)
from skdp._sgd.settings import SELECTORS as COMMON_SELECTORS
from skdp.training import (
    AllCoordinates,
    CoordinateSelector,
    ExponentialSelector,
    GaussianSelector,
    NoisyMaxSelector,
    PermuteAndFlipSelector,
    SparseVectorSelector,
)
from skdp.training.automatic import PublicFacts
from skdp.training.linear_run import LinearRun

SELECTORS = {**COMMON_SELECTORS, "permute_and_flip": PermuteAndFlipSelector}
NOISE_GROWS = (
    ExponentialSelector,
    NoisyMaxSelector,
    PermuteAndFlipSelector,
    SparseVectorSelector,
)


def linear_run(model, n_records, n_features, loss, *, sampler=None, n_runs=1, rows_per_group=None):
    """Return the calibrated run of a model for data of this public shape.

    `n_runs` runs over the same records share the budget. With `rows_per_group`, a record is a group
    of so many rows at most.

    Everything here follows from parameters and public facts; a combination without a theorem, or
    a budget that no noise keeps, is refused.
    """
    _refuse_idle_parameters(model)
    _refuse_adaptive_noise(model.noise_schedule)
    n_free = loss.n_outputs if model.fit_intercept else 0
    size = n_features * loss.n_outputs + n_free
    budget = model._budget()
    clip = model._number("max_grad_norm")

    def facts_of(n):
        return PublicFacts(
            n_records=n,
            size=size,
            epsilon=budget.epsilon,
            delta=budget.delta,
            n_runs=n_runs,
            max_grad_norm=clip,
            smoothness=loss.smoothness,
            selects=_selects(model.selector),
            noise_grows=SELECTORS.get(model.selector) in NOISE_GROWS
            if isinstance(model.selector, str)
            else False,
            amplified=model.sampling not in UNAMPLIFIED,
            scores_have_units=model._y_numeric,
        )

    sampler, facts = sampler_and_facts(model, facts_of, n_records, sampler, rows_per_group)
    plan = calibrated_plan(model, sampler, facts, _selector(model, facts), clip, n_runs)
    rate = model.learning_rate
    if rate == "auto":
        rate = facts.learning_rate(plan.mean_noise, sampler.divisor, plan.n_steps)
    else:
        rate = model._number("learning_rate")
    return LinearRun(
        plan=plan,
        optimizer=OPTIMIZERS[model.optimizer],
        learning_rate=rate,
        decay=model._number("alpha"),
        average=model.average,
        n_free=n_free,
    )


def _refuse_idle_parameters(model):
    """Refuse what would be ignored, since whoever sets it believes that it does something."""
    named = isinstance(model.selector, str) and model.selector != "auto"
    idle = {
        "n_selected": model.n_selected != "auto",
        "selection_share": model.selection_share != "auto",
        "selected_grad_norm": model.selected_grad_norm is not None,
    }
    for name, is_set in idle.items():
        if is_set and not named:
            raise ValueError(
                f"{name} is set, but selector={model.selector!r} does not use it: name a selector "
                "(selector='gaussian'), or set it in the selector object."
            )
    refuse_idle_batch_size(model)


def _refuse_adaptive_noise(schedule):
    if schedule is not None and schedule.adaptive:
        raise ValueError(
            f"noise_schedule={type(schedule).__name__} follows the accuracy of the model while it "
            "is trained, which linear models do not measure: take a schedule that is fixed "
            "beforehand (ExponentialDecay, StepDecay, ...), or PrivateMLPClassifier."
        )


def _selects(selector):
    if isinstance(selector, CoordinateSelector):
        return selector.selects
    return selector not in (None, "auto")


def _selector(model, facts):
    if isinstance(model.selector, CoordinateSelector):
        return model.selector
    if not _selects(model.selector):
        return AllCoordinates()
    kind = SELECTORS[model.selector]
    share, norm = model.selection_share, model.selected_grad_norm
    if share == "auto":
        reuses = kind is GaussianSelector and norm is None
        share = None if reuses else facts.selection_share()
    else:
        share = model._number("selection_share")
    norm = None if norm is None else model._number("selected_grad_norm")
    return kind(_n_selected(model, facts, kind), share, norm)


def _n_selected(model, facts, kind):
    if model.n_selected != "auto":
        n_selected = model.n_selected
    elif kind is PermuteAndFlipSelector:
        n_selected = 1
    else:
        n_selected = facts.n_selected()
    if n_selected > facts.size:
        raise ValueError(
            f"n_selected={n_selected} is larger than the number of coefficients, {facts.size}."
        )
    return n_selected
