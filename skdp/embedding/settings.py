"""From the parameters of a CBOW model to the objects that run: the border of strings."""

from dataclasses import dataclass

import numpy as np

from skdp._sgd.settings import (
    OPTIMIZERS,
    SELECTORS,
    calibrated_plan,
    refuse_idle_batch_size,
    sampler_and_facts,
)
from skdp.embedding.row_selection import WholeRows
from skdp.embedding.run import CbowRun
from skdp.embedding.units import UNITS
from skdp.training import AllCoordinates, CoordinateSelector, GaussianSelector
from skdp.training.automatic import run_mu

SELECTIONS = ("coordinates", "rows")
#: Share of a step's budget that pays for the selection.
_SHARE = 0.5
_STEPS = 2000
#: Batches so large that the noise multiplier is about 2: then sampling costs little noise.
_RATE_PER_MU, _FEWEST_EPOCHS = 1.9, 5
_ADAM_RATE = 0.001


@dataclass(frozen=True)
class CbowFacts:
    """What is known before the documents are looked at.

    Attributes
    ----------
    n_records : int
        Number of records, as far as it is public.
    size : int
        Number of parameters.
    epsilon, delta : float
        The budget.
    """

    n_records: int
    size: int
    epsilon: float
    delta: float

    def n_steps(self):
        """Number of steps of a run."""
        return _STEPS

    def batch_size(self, n_epochs=None):
        """Expected batch size; for so many epochs, where they are given."""
        rate = self._sampling_rate() if n_epochs is None else min(1.0, n_epochs / _STEPS)
        return max(1, round(rate * self.n_records))

    def _sampling_rate(self):
        mu = run_mu(self.epsilon, self.delta, 1)
        return min(1.0, max(_RATE_PER_MU * mu / _STEPS**0.5, _FEWEST_EPOCHS / _STEPS))


def cbow_run(model, n_records, n_words):
    """Return the calibrated run of a model for so many records and words.

    Everything here follows from parameters and public facts; what has no theorem is refused.
    """
    _refuse_idle_parameters(model)
    refuse_idle_batch_size(model)
    if model.noise_schedule is not None and model.noise_schedule.adaptive:
        raise ValueError(
            f"noise_schedule={type(model.noise_schedule).__name__} follows the accuracy of the "
            "model while it is trained, which word vectors do not have: take a schedule that is "
            "fixed beforehand (ExponentialDecay, StepDecay, ...)."
        )
    size, budget = n_words * model.vector_size, model._budget()

    def facts_of(n):
        return CbowFacts(n, size, budget.epsilon, budget.delta)

    sampler, facts = sampler_and_facts(model, facts_of, n_records)
    clip = model._number("max_grad_norm")
    run = CbowRun(
        plan=calibrated_plan(model, sampler, facts, _selector(model, n_words), clip, 1),
        optimizer=OPTIMIZERS[model.optimizer],
        learning_rate=_learning_rate(model),
        decay=0.0,
        average=False,
        n_free=0,
        vector_size=int(model.vector_size),
        init_scale=model._number("init_scale"),
    )
    run.refuse_inexact_sums()
    examples = int(model.max_contributions) if UNITS[model.unit].by_document else 1
    _refuse_large_records(examples, int(model.negative))
    run.refuse_lost_rows(min(n_words, examples * (int(model.negative) + 2)))
    return run


def _refuse_large_records(n_examples, n_negatives):
    """Refuse, before anything is spent, examples of a document that would not fit into memory."""
    try:
        np.empty((n_examples, n_negatives + 2), dtype=np.int64)
    except (MemoryError, ValueError):
        raise ValueError(
            f"There is no memory for {n_examples} examples of a document with {n_negatives} "
            "negatives each: lower max_contributions or negative."
        ) from None


def _learning_rate(model):
    if model.learning_rate != "auto":
        return model._number("learning_rate")
    if model.optimizer == "sgd":
        raise ValueError("optimizer='sgd' needs a learning_rate: nothing public tells a good one.")
    return _ADAM_RATE


def _refuse_idle_parameters(model):
    """Refuse what would be ignored, since whoever sets it believes that it does something."""
    idle = {
        "n_selected": model.n_selected != "auto",
        "selected_grad_norm": model.selected_grad_norm is not None,
    }
    for name, is_set in idle.items():
        if is_set and not isinstance(model.selector, str):
            raise ValueError(
                f"{name} is set, but selector={model.selector!r} does not use it: name a selector "
                "(selector='gaussian'), or set it in the selector object."
            )


def _selector(model, n_words):
    if model.selector is None:
        return AllCoordinates()
    by_row = model.selection == "rows"
    inner = model.selector
    if not isinstance(inner, CoordinateSelector):
        inner = _named_selector(model, n_words, by_row)
    elif not inner.selects:
        return inner
    elif isinstance(inner, WholeRows):
        if inner.row_size != model.vector_size:
            raise ValueError(
                f"selector has row_size={inner.row_size}, but vectors have vector_size="
                f"{model.vector_size}."
            )
        return inner
    return WholeRows(inner, int(model.vector_size)) if by_row else inner


def _named_selector(model, n_words, by_row):
    kind = SELECTORS[model.selector]
    n = n_words if by_row else n_words * model.vector_size
    k = max(1, n // 50) if model.n_selected == "auto" else model.n_selected
    if k > n:
        raise ValueError(f"n_selected={k} is larger than the number of {model.selection}, {n}.")
    norm = None
    if model.selected_grad_norm is not None:
        norm = model._number("selected_grad_norm")
    reuses = kind is GaussianSelector and not by_row and norm is None
    return kind(k, None if reuses else _SHARE, norm)
