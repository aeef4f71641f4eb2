"""A pipeline with one budget, which is checked before a row is looked at."""

from sklearn.pipeline import Pipeline, make_pipeline

from skdp.exceptions import BudgetExceededError, PrivacyError
from skdp.pipeline.budgeted import relation_of, set_budget
from skdp.pipeline.spending import FitBudget
from skdp.pipeline.splitting import SPLITS, shares_of
from skdp.pipeline.walk import walked
from skdp.privacy import InMemoryLedger, PrivacyBudget, composed_statement

__all__ = ["PrivatePipeline", "make_private_pipeline"]


class PrivatePipeline(Pipeline):
    """A pipeline whose private steps share one budget, checked at `fit` before any row is seen.

    Parameters
    ----------
    steps : list of (str, estimator)
        As of :class:`~sklearn.pipeline.Pipeline`. `fit` sets `epsilon` and `delta` of its private
        steps, nested ones too.
    epsilon : float, default=1.0
        What all steps together keep.
    delta : float, default=1e-6
        In [0, 1).
    split : {"sums", "gaussian"}, default="sums"
        "sums" gives each private step its share of epsilon and of delta. "gaussian" gives it its
        share of the squared mu of the Gaussian release of this budget, which is more, and refuses
        a step that would break the budget with those before it; a ledger that adds up epsilons is
        then charged more than `epsilon`.
    shares : mapping from str to float or None, default=None
        Weight of each private step, named outer__inner within another. None gives the last one,
        the model, 3 and each other 1.
    ledger : Ledger or None, default=None
        Where each private step spends before it looks at the rows.
    public : collection of str, default=()
        As of :func:`check_private_pipeline`.

    Attributes
    ----------
    privacy_ : PrivacyStatement
        What the fit promised as a whole.
    check_ : PipelineCheck
        What was found out about the steps.

    Raises
    ------
    LeakyPipelineError
        If a step would publish what it learned; nothing is read or spent then.

    Notes
    -----
    *Guarantees.* (epsilon, delta)-differential privacy of all fitted attributes together, under the
    relation that the private steps share. They compose sequentially, branches of a column
    transformer too: those hold other columns of the *same* people, not other people.

    There is no caching (`memory`), no output of timings (`verbose`) and no `transform_input`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skdp.decomposition import PrivatePCA
    >>> from skdp.linear_model import SparseDPSGDClassifier
    >>> from skdp.pipeline import make_private_pipeline
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_private_pipeline(
    ...     PrivatePCA(20), SparseDPSGDClassifier(classes=range(10)), epsilon=4.0, delta=1e-5
    ... )
    >>> model.fit(X / 16, y).privacy_
    PrivacyStatement(epsilon=4, delta=1e-05, neighbours=zero-out, unit=row)
    >>> [step.epsilon for step in model]
    [1.0, 3.0]
    """

    memory = None
    verbose = False
    transform_input = None
    _parameter_constraints: dict[str, list[object]] = {}  # noqa: RUF012

    def __init__(
        self,
        steps,
        *,
        epsilon=1.0,
        delta=1e-6,
        split="sums",
        shares=None,
        ledger=None,
        public=(),
    ):
        self.steps = steps
        self.epsilon = epsilon
        self.delta = delta
        self.split = split
        self.shares = shares
        self.ledger = ledger
        self.public = public

    def __getitem__(self, ind):
        """Return a step, or a plain pipeline of some of them, to apply what is fitted."""
        if not isinstance(ind, slice):
            return super().__getitem__(ind)
        if ind.step not in (1, None):
            raise ValueError("A slice of a pipeline takes its steps in order: leave its step at 1.")
        return Pipeline(self.steps[ind])

    def fit(self, X, y=None, **params):
        """Check the steps, split the budget and fit each step.

        Parameters
        ----------
        X : {array-like, sparse matrix}
            Private rows.
        y : array-like, default=None
            Targets.
        **params : dict
            As of :class:`~sklearn.pipeline.Pipeline`.

        Returns
        -------
        self
        """
        return self._within_budget(super().fit, X, y, params)

    def fit_transform(self, X, y=None, **params):
        """Fit, and transform the rows with the last step; what comes out is private."""
        return self._within_budget(super().fit_transform, X, y, params)

    def fit_predict(self, X, y=None, **params):
        """Fit, and predict for the rows; what comes out may depend on each row itself."""
        return self._within_budget(super().fit_predict, X, y, params)

    def _within_budget(self, fit, X, y, params):
        vars(self).pop("privacy_", None)
        found = walked(self, self.public)
        private = [(check.name, step) for step, check in found if check.kind == "private"]
        whole, split, budgets = self._plan(private)
        spending = FitBudget(whole, split, self.ledger)
        try:
            for (_, step), budget in zip(private, budgets, strict=True):
                set_budget(step, budget.epsilon, budget.delta, spending)
            outcome = fit(X, y, **params)
        finally:
            for step in _own_and_fitted(self):
                _take_ledger_out(step, spending)
        if len(spending.statements) != len(private):
            raise PrivacyError("A private step spent nothing, or more than once.")
        self.check_, self.privacy_ = _check_of(found), _statement(found, whole, spending)
        return outcome

    def _plan(self, private):
        if not private:
            raise ValueError(
                "There is no private step to spend a budget; use a Pipeline of scikit-learn."
            )
        names = [name for name, _ in private]
        for name, step in private:
            prefix = "" if "ledger" in step.get_params(deep=False) else "estimator__"
            if step.get_params()[f"{prefix}ledger"] is not None:
                raise ValueError(
                    f"Step {name!r} has a ledger of its own. Give the ledger to the pipeline."
                )
        relations = {relation_of(step) for _, step in private} - {None}
        if len(relations) > 1:
            raise ValueError(
                f"Guarantees for different neighbouring relations "
                f"({', '.join(sorted(r.value for r in relations))}) do not add up. Choose steps, "
                "or their neighbours or sampling, of one relation."
            )
        if self.split not in SPLITS:
            raise ValueError(f"split must be one of {sorted(SPLITS)}, got {self.split!r}.")
        whole = PrivacyBudget(float(self.epsilon), float(self.delta))
        split = SPLITS[self.split]
        self._refuse_overspending(whole)
        return whole, split, split.budgets(whole, shares_of(names, self.shares))

    def _refuse_overspending(self, whole):
        """Refuse before the first step spends, where a ledger of sums cannot pay for all."""
        if isinstance(self.ledger, InMemoryLedger) and self.split == "sums":
            left = self.ledger.remaining
            if whole.epsilon > left.epsilon or whole.delta > left.delta:
                raise BudgetExceededError(
                    f"The pipeline asks for epsilon = {whole.epsilon:g}, delta = {whole.delta:g}; "
                    f"the ledger has {left.epsilon:g}, {left.delta:g} left. Nothing was spent."
                )


def make_private_pipeline(
    *steps, epsilon=1.0, delta=1e-6, split="sums", shares=None, ledger=None, public=()
):
    """Return a :class:`PrivatePipeline` of steps that are named after their classes.

    Parameters
    ----------
    *steps : estimators
        In their order.
    epsilon, delta, split, shares, ledger, public
        As of :class:`PrivatePipeline`.

    Returns
    -------
    PrivatePipeline
        Not fitted; checked now, and again at `fit`.

    Raises
    ------
    LeakyPipelineError
        As of :func:`check_private_pipeline`.

    Examples
    --------
    >>> from sklearn.preprocessing import Normalizer
    >>> from skdp.linear_model import SparseDPSGDClassifier
    >>> from skdp.pipeline import make_private_pipeline
    >>> model = make_private_pipeline(Normalizer(), SparseDPSGDClassifier(), epsilon=2.0)
    >>> [name for name, _ in model.steps]
    ['normalizer', 'sparsedpsgdclassifier']
    """
    pipeline = PrivatePipeline(
        make_pipeline(*steps).steps,
        epsilon=epsilon,
        delta=delta,
        split=split,
        shares=shares,
        ledger=ledger,
        public=public,
    )
    walked(pipeline, public)
    return pipeline


def _check_of(found):
    from skdp.pipeline.verdicts import PipelineCheck

    return PipelineCheck(tuple(check for _, check in found))


def _statement(found, whole, spending):
    before = [s.estimator.privacy_ for s, check in found if check.kind == "released before"]
    vouched = _check_of(found).assumptions
    return composed_statement_of([*before, *spending.statements], vouched, whole, before)


def composed_statement_of(statements, vouched, whole, before):
    """State the whole: what was asked for where that is proved, the least epsilon elsewhere."""
    from dataclasses import replace

    said = composed_statement(statements)
    assumptions = (*said.assumptions, *vouched)
    proved = not before and said.curve.delta_at(whole.epsilon) <= whole.delta
    budget = whole if proved and whole.delta > 0 else said.budget
    return replace(said, budget=budget, assumptions=assumptions)


def _take_ledger_out(step, spending):
    """Leave no reference to a fit's own ledger in its steps."""
    inner = getattr(step, "estimator", step)
    for part in {id(step): step, id(inner): inner}.values():
        if getattr(part, "ledger", None) is spending:
            part.ledger = None
    for name in ("estimator_",):
        part = getattr(step, name, None)
        if getattr(part, "ledger", None) is spending:
            part.ledger = None


def _own_and_fitted(step):
    """Yield the innermost steps, those that a column transformer fitted in their stead too."""
    containers = ("steps", "transformers", "transformers_", "transformer_list")
    held = [part for name in containers for part in getattr(step, name, None) or ()]
    yield step
    for part in held:
        if hasattr(part[1], "get_params"):
            yield from _own_and_fitted(part[1])
    remainder = getattr(step, "remainder", None)
    if hasattr(remainder, "get_params"):
        yield from _own_and_fitted(remainder)
