"""What a fitted pipeline promises as a whole."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from sklearn.pipeline import Pipeline

from skdp.pipeline.budgeted import n_fixed_beforehand, shared_unit
from skdp.pipeline.verdicts import PipelineCheck, StepCheck
from skdp.pipeline.walk import walked
from skdp.privacy import Neighbours, PrivacyBudget, PrivacyStatement, composed_statement

__all__ = [
    "pipeline_statement",
    "said_before",
    "said_of",
    "stated_within",
    "with_fixed_pairs",
]

_ROWS_ARE_DOCUMENTS = "Each row is one document."
_NULLS = " A null document contributes nothing to any step; one without a word is not null."

Found = Sequence[tuple[Any, StepCheck]]


def pipeline_statement(
    pipeline: Any, *, delta: float | None = None, public: Collection[str] = ()
) -> PrivacyStatement:
    """State what a fitted pipeline promises as a whole.

    Parameters
    ----------
    pipeline : Pipeline
        Fitted by one call of `fit`. Its steps, nested ones too, are such as
        :func:`check_private_pipeline` accepts.
    delta : float or None, default=None
        The delta to state; None takes the sum of those of the private steps.
    public : collection of str, default=()
        As of :func:`check_private_pipeline`. The statement lists each among its assumptions.

    Returns
    -------
    PrivacyStatement
        As of :func:`~skdp.privacy.composed_statement`.

    Raises
    ------
    LeakyPipelineError
        If a step may have published what it learned from the rows.
    ValueError
        If a step is not fitted, or as for :func:`~skdp.privacy.composed_statement`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from skdp.decomposition import PrivatePCA
    >>> from skdp.linear_model import SparseDPSGDClassifier
    >>> from skdp.pipeline import pipeline_statement
    >>> X, y = np.eye(400, 5), np.arange(400) % 2
    >>> pipeline = make_pipeline(
    ...     PrivatePCA(3, epsilon=0.5, delta=1e-6),
    ...     SparseDPSGDClassifier(epsilon=1.0, delta=1e-6, classes=[0, 1]),
    ... )
    >>> statement = pipeline_statement(pipeline.fit(X, y))
    >>> statement.epsilon < 1.2, statement.delta
    (True, 2e-06)
    """
    if not isinstance(pipeline, Pipeline):
        raise TypeError(
            f"pipeline must be a Pipeline of scikit-learn, got {pipeline!r}. What one estimator "
            "promises is in its privacy_."
        )
    found = walked(pipeline, public, fitted=True)
    private = [(check, step) for step, check in found if check.kind == "private"]
    statements = with_fixed_pairs([step for _, step in private], _said(private))
    said = _in_one_unit([*said_before(found), *statements])
    return _with_vouchers(composed_statement(said, delta=delta), found)


def said_before(found: Found) -> list[PrivacyStatement]:
    """Return what was promised for frozen steps that were fitted before."""
    return [step.estimator.privacy_ for step, check in found if check.kind == "released before"]


def stated_within(
    budget: PrivacyBudget, found: Found, statements: Sequence[PrivacyStatement]
) -> PrivacyStatement:
    """State the whole: the budget where that is proved, the least epsilon elsewhere."""
    before = said_before(found)
    said = composed_statement(_in_one_unit([*before, *statements]))
    proved = not before and said.curve.delta_at(budget.epsilon) <= budget.delta
    kept = budget if proved and budget.delta > 0 else said.budget
    return replace(_with_vouchers(said, found), budget=kept)


def said_of(unit: str, statement: PrivacyStatement) -> PrivacyStatement:
    """Return what was promised for rows as a promise for documents, where rows are these."""
    if (unit, statement.unit) != ("document", "row"):
        return statement
    told = _ROWS_ARE_DOCUMENTS
    if statement.neighbours is Neighbours.ZERO_OUT:
        told += _NULLS
    return replace(statement, unit=unit, assumptions=(*statement.assumptions, told))


def _in_one_unit(statements: Sequence[PrivacyStatement]) -> list[PrivacyStatement]:
    unit = shared_unit([(f"step {place}", said.unit) for place, said in enumerate(statements)])
    return [said_of(unit, said) for said in statements]


def _with_vouchers(statement: PrivacyStatement, found: Found) -> PrivacyStatement:
    vouched = PipelineCheck(tuple(check for _, check in found)).assumptions
    return replace(statement, assumptions=(*statement.assumptions, *vouched))


def with_fixed_pairs(
    steps: Sequence[Any], statements: Sequence[PrivacyStatement]
) -> list[PrivacyStatement]:
    """Return what steps promised, as far as it was fixed before the first of them ran.

    Privacy losses compose over releases whose pairs of output distributions are fixed beforehand.
    Of steps behind one that releases how many columns leave it, the budget was, and the pair of
    randomised response dominates all that keeps it (Kairouz, Oh and Viswanath 2015).

    Parameters
    ----------
    steps : sequence of estimators
        In the order in which they ran.
    statements : sequence of PrivacyStatement
        Theirs.

    Returns
    -------
    list of PrivacyStatement
    """
    n_fixed = n_fixed_beforehand(steps)
    return [*statements[:n_fixed], *map(_known_by_budget, statements[n_fixed:])]


def _known_by_budget(statement: PrivacyStatement) -> PrivacyStatement:
    from skdp.privacy.accounting import EventCurve
    from skdp.privacy.events import PureReleaseDpEvent

    known = PureReleaseDpEvent(
        epsilon=statement.epsilon,
        delta=statement.delta,
        sensitivity=1.0,
        norm="l1",
        neighbours=statement.neighbours.value,
        noise_scale=1 / statement.epsilon,
    )
    return replace(statement, curve=EventCurve(known))


def _said(private: Sequence[tuple[StepCheck, Any]]) -> list[PrivacyStatement]:
    for check, step in private:
        if not hasattr(step, "privacy_"):
            raise ValueError(
                f"Step {check.name!r} ({check.class_name}) is not fitted yet: call pipeline.fit "
                "first."
            )
    return [step.privacy_ for _, step in private]
