"""From parameters that all DP-SGD estimators have to the plan that runs: the border of strings."""

from skdp.exceptions import UnsupportedEventError
from skdp.training import (
    SGD,
    Adam,
    ConstantNoise,
    ExponentialSelector,
    FixedSizeWithoutReplacement,
    FullBatch,
    GaussianSelector,
    NoisyMaxSelector,
    PoissonSampler,
    Sampler,
    ShuffledBatches,
    SparseVectorSelector,
    SurvivorSelector,
    TrainingPlan,
)
from skdp.training.grouped_sampling import SampledGroups

SAMPLERS = {
    "poisson": PoissonSampler.of_batch_size,
    "shuffled": ShuffledBatches,
    "fixed_size": FixedSizeWithoutReplacement,
    "full": lambda batch_size, n_records: FullBatch(n_records),
}
OPTIMIZERS = {"sgd": SGD, "adam": Adam}
SELECTORS = {
    "gaussian": GaussianSelector,
    "exponential": ExponentialSelector,
    "noisy_max": NoisyMaxSelector,
    "sparse_vector": SparseVectorSelector,
    "adafest": SurvivorSelector,
}
UNAMPLIFIED = ("shuffled", "full")


def sampler_and_facts(model, facts_of, n_records, sampler=None, rows_per_group=None):
    """Return the sampler of a model and the public facts of the records that it is for.

    `facts_of(n)` returns the facts of n records, from which follow `batch_size` and `n_steps`.
    With `rows_per_group`, a record is a group of so many rows at most.
    """
    if sampler is None:
        sampler = _sampler(model, facts_of(n_records))
    sampler.admit(n_records)
    if rows_per_group is not None:
        sampler = SampledGroups(sampler, rows_per_group)
    return sampler, facts_of(sampler.public_size)


def calibrated_plan(model, sampler, facts, selector, max_grad_norm, n_runs, before=None):
    """Return the plan with the least noise that keeps the budget of a model.

    Everything here follows from parameters and public facts; a combination without a theorem, or
    a budget that no noise keeps, is refused. `before` has the event of what is released of the same
    records first, and its theorem.
    """
    plan = TrainingPlan(
        sampler,
        selector,
        ConstantNoise() if model.noise_schedule is None else model.noise_schedule,
        max_grad_norm,
        _n_steps(model, sampler, facts),
        facts.size,
        n_runs,
        *((None, "") if before is None else (before.event, before.theorem)),
    )
    try:
        return plan.calibrated(model._budget())
    except UnsupportedEventError as error:
        raise ValueError(
            f"{type(plan.sampler).__name__} has no privacy theorem for "
            f"{type(plan.selector).__name__} under {plan.sampler.neighbours.value}: {error}"
        ) from None


def refuse_idle_batch_size(model):
    """Refuse what would be ignored, since whoever sets it believes that it does something."""
    if model.sampling == "full" and model.batch_size != "auto":
        raise ValueError("batch_size is set, but sampling='full' takes all rows in every step.")


def _sampler(model, facts):
    if isinstance(model.sampling, Sampler):
        if model.batch_size != "auto":
            raise ValueError(
                "batch_size is set, and sampling is an object that names its own; set one of them."
            )
        return model.sampling
    if model.batch_size == "auto":
        n_epochs = None if model.n_epochs == "auto" else model._number("n_epochs")
        batch_size = facts.batch_size(n_epochs)
    else:
        batch_size = model.batch_size
    if batch_size > facts.n_records:
        raise ValueError(
            f"batch_size={batch_size} is larger than the number of rows, {facts.n_records} (of "
            "groups, where these are protected)."
        )
    return SAMPLERS[model.sampling](batch_size, facts.n_records)


def _n_steps(model, sampler, facts):
    if model.n_epochs == "auto":
        return facts.n_steps()
    return max(1, round(model._number("n_epochs") * sampler.steps_per_epoch))
