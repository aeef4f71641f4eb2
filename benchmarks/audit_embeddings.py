"""Cases of `benchmarks/audits.py`: vocabularies, and word vectors of either unit."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.audit_cases import Case
from benchmarks.audit_powerful import BUDGET, first_number, with_control
from benchmarks.audit_rows import RowsLaw, RowsSeen
from benchmarks.audit_sums import SumLaw, epsilon_shown, mean_curve
from skdp.audit import NeighbouringPair, worst_case_neighbours
from skdp.audit.fits import call_fit, fresh
from skdp.privacy.gaussian_curve import gaussian_epsilon, gaussian_mu

_WORDS = ["ant", "bee", "cat", "dog", "elk", "fox"]
#: All negative samples are one word, so that the gradient of a document is known.
_COUNTS = dict.fromkeys(_WORDS, 1) | {"fox": 10**6}
_STILL, _STARTS = 1e-12, 40
_CONTROL_FITS = 600


def embeddings(n_fits: int) -> Iterator[Case]:
    """Word vectors of either unit, and vocabularies; a document is there, or empty, or replaced."""
    yield from _vocabularies(n_fits)
    full = {"sampling": "full"}
    one_row = {**full, "n_selected": 1}
    batches, fixed = {"batch_size": 2}, {"sampling": "fixed_size", "batch_size": 2}
    for options, share, fits in (
        (full, 0.5, _CONTROL_FITS),
        ({**full, "n_epochs": 20}, 0.5, _CONTROL_FITS),
        ({"sampling": "shuffled", "n_epochs": 5, **batches}, 0.25, _CONTROL_FITS),
        ({"sampling": "poisson", **batches}, 0.25, _CONTROL_FITS),
        (fixed, 0.125, 1500),
        ({**full, "optimizer": "adam", "vector_size": 8}, 0.25, _CONTROL_FITS),
        ({"selector": "gaussian", **one_row}, 0.25, _CONTROL_FITS),
        ({"selector": "exponential", **one_row}, 0.25, _CONTROL_FITS),
        ({"selector": "adafest", **one_row}, 0.25, _CONTROL_FITS),
        # At two records a delta of 0.1 would be one above 1.
        ({"unit": "example", "epsilon": 1.0, "delta": 0.01, **fixed}, 0.25, _CONTROL_FITS),
    ):
        # Where noise is all that hides a document, as many fits as come near what there is.
        yield _vectors_case(options, n_fits * (3 if options is full else 1), share, fits)


def _vocabularies(n_fits: int) -> Iterator[Case]:
    """Choices of words; the control of a replaced document has the noise of an emptied one."""
    from skdp.embedding import PrivateVocabulary

    for neighbours, most, epsilon, share, fits in (
        ("zero-out", 6, 3.0, 0.5, _CONTROL_FITS),
        ("add-or-remove-one", 6, 3.0, 0.5, _CONTROL_FITS),
        ("replace-one", 3, 1.0, math.sqrt(0.5), 2400),
    ):
        chosen = PrivateVocabulary(
            len(_WORDS), candidates=_WORDS, max_contributions=most, neighbours=neighbours,
            epsilon=epsilon, delta=BUDGET["delta"],
        )  # fmt: skip
        pair = worst_case_neighbours(chosen)[-1]
        loud = gaussian_epsilon(gaussian_mu(epsilon, chosen.delta) / share, chosen.delta)
        yield with_control(chosen, pair, 3 * n_fits, epsilon, loud, share, fits)


def _vectors_case(options: dict[str, Any], n_fits: int, share: float, control_fits: int) -> Case:
    """Vectors begin where a fit from the same seed with a vanishing learning rate ends.

    They hardly move, so that a document has the same gradient in each step.
    """
    from skdp.embedding import PrivateCBOW
    from skdp.privacy.accounting import epsilon_of

    given = {
        "vector_size": 2, "window": 1, "negative": 1, "vocabulary": _COUNTS, "ns_exponent": 1.0,
        "max_grad_norm": 0.3, "init_scale": 1.0, "optimizer": "sgd", "learning_rate": 1e-6,
        "n_epochs": 1,
    }  # fmt: skip
    model = PrivateCBOW(**{**BUDGET, **given, **options})
    seen = Seen.of(model, worst_case_neighbours(model, n_rows=4)[-1])
    pair = replace(seen.pair, event=first_number)
    if model.selector is not None:
        pair = replace(pair, release=seen.rows)
    loud = epsilon_of(seen.at_noise(share).plan.event, model.delta)
    return with_control(model, pair, n_fits, seen.theory(), loud, share, control_fits)


@dataclass(frozen=True)
class Seen:
    """What is seen of a canary in word vectors that hardly move.

    Attributes
    ----------
    model : PrivateCBOW
    pair : NeighbouringPair
    plan : TrainingPlan
    """

    model: Any
    pair: NeighbouringPair
    plan: Any

    @classmethod
    def of(cls, model: Any, pair: NeighbouringPair) -> "Seen":
        """Return what is seen of this pair."""
        from skdp.embedding.settings import cbow_run

        by_example = model.unit == "example"
        n_records = 2 if by_example else len(pair.data[0])
        return cls(model, pair, cbow_run(model, n_records, len(_COUNTS)).plan)

    def at_noise(self, share: float) -> "Seen":
        """Return the same with so much of the noise."""
        noise = self.plan.noise.at_level(share * self.plan.noise.level)
        return replace(self, plan=replace(self.plan, noise=noise))

    def theory(self) -> float:
        """Return what fits without end show of one record.

        Adam's first step divides each number of a gradient by its size and 1e-8, which leaves its
        sign, and as much of its size as digits can tell.
        """
        if self.model.selector is not None:
            curve = mean_curve(self.laws_of_rows())
        else:
            curve = mean_curve(self.laws())
        return epsilon_shown(curve, self.model.delta, self.pair.distance)

    def laws(self) -> list[SumLaw]:
        """Laws of the sum along the canary's pull, each as likely: by where vectors begin."""
        return [self._law(float(np.linalg.norm(pull))) for pull in self._pulls()]

    def laws_of_rows(self) -> list[RowsLaw]:
        """Laws of which rows are selected in the only step, and of what is released of them."""
        step = next(self.plan.steps())
        return [self.rows.law(step, *where) for where in self._starts()]

    @property
    def rows(self) -> RowsSeen:
        """What sees the most where rows are selected; a document's words are by turns."""
        documents = self.pair.data[0]
        return RowsSeen(self.pair.release, len(documents), len(documents[0]) - 1)

    def _law(self, mu: float) -> SumLaw:
        n_steps, n_records = self.plan.n_steps, self.plan.sampler.public_size
        rate = self.plan.sampler.divisor / n_records
        if self.model.sampling in ("poisson", "fixed_size"):
            return SumLaw.of_draws(mu, n_steps, rate, bool(self.pair.release.instead))
        return SumLaw((mu * rate * math.sqrt(n_steps),))

    def _pulls(self) -> Iterator[Any]:
        """Yield how far the canary moves the sum of gradients, in units of a step's noise."""
        std = self.plan.noise.level * self.plan.max_grad_norm
        for where in self._starts():
            yield self.pair.release.difference(*where) / std

    def _starts(self) -> Iterator[tuple[Any, Any]]:
        """Yield where vectors begin, and the model that begins there."""
        for seed in range(_STARTS):
            still = fresh(self.model, seed).set_params(learning_rate=_STILL)
            yield call_fit(still, self.pair.data).vectors_, still
