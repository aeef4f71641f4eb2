"""A pipeline with one budget, which is checked before a row is looked at."""

from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline

from skdp.exceptions import BudgetExceededError, PrivacyError
from skdp.pipeline.budgeted import (
    n_fixed_beforehand,
    relation_of,
    set_budget,
    shared_unit,
    take_ledger_out,
    unit_of,
)
from skdp.pipeline.fit_conditions import (
    refuse_iterators,
    refuse_partial_maps,
    refuse_unusable_metadata,
    refuse_unusable_targets,
    undone_on_failure,
)
from skdp.pipeline.payment import payer
from skdp.pipeline.raw_rows import admit, paths
from skdp.pipeline.refusals import quoting_nothing
from skdp.pipeline.rehearsal import CannotRehearseError, Rehearsal, rehearsed
from skdp.pipeline.spending import FitBudget
from skdp.pipeline.splitting import SPLITS, shares_of
from skdp.pipeline.statements import said_before, said_of, stated_within, with_fixed_pairs
from skdp.pipeline.verdicts import PipelineCheck
from skdp.pipeline.walk import walked
from skdp.privacy import PrivacyBudget, PrivacyLedger
from skdp.privacy.privacy_ledger import as_ledger

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
        share of the squared mu of the Gaussian release of this budget, which is more. What the
        steps really promise is found out on made-up rows first, shares are made smaller until it
        keeps the budget, and what still breaks it is refused before anything is spent. A ledger
        that adds up epsilons is charged more than `epsilon`. Not behind a step that releases how
        many columns leave it, such as an encoder: noise of later ones is not fixed beforehand then.
    shares : mapping from str to float or None, default=None
        Weight of each private step, named outer__inner within another. None gives the last one,
        the model, 3 and each other 1.
    ledger : Ledger, path or None, default=None
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
    transformer too: those hold other columns of the *same* people, not other people. All protect a
    row, or all a group of rows; where a step reads documents, such as ``PrivateCBOW``, each row is
    one, and that is the unit.

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
        with undone_on_failure(self):
            return self._fitted(fit, X, y, params)

    def _fitted(self, fit, X, y, params):
        vars(self).pop("privacy_", None)
        found = walked(self, self.public)
        private = [(check.name, step) for step, check in found if check.kind == "private"]
        before = said_before(found)
        whole, split, shares = self._plan(private, before)
        unit = _unit(private, before)
        refuse_partial_maps(self, found)
        refuse_iterators(X)
        refuse_unusable_targets(self, X, y)
        refuse_unusable_metadata(X, params)
        n_spends = len(_spending_steps(private))
        data = (X, y, params)
        budgets = self._budgets(whole, split, shares, n_spends, data)
        ledger = as_ledger(self.ledger)
        self._refuse_inadmissible(ledger, budgets, data)
        ledger = self._payer(ledger, private, budgets, unit, data)
        spending = FitBudget(whole, split, ledger, unit)
        try:
            for (_, step), budget in zip(private, budgets, strict=True):
                set_budget(step, budget.epsilon, budget.delta, spending)
            outcome = quoting_nothing(lambda: fit(X, y, **params), (step for step, _ in found))
        finally:
            take_ledger_out(self, spending)
        if len(spending.statements) != n_spends:
            raise PrivacyError("A private step spent nothing, or more than once.")
        statements = with_fixed_pairs(_spending_steps(private), spending.statements)
        self.check_ = PipelineCheck(tuple(check for _, check in found))
        self.privacy_ = stated_within(whole, found, statements)
        return outcome

    def _plan(self, private, before):
        if not private:
            raise ValueError(
                "There is no private step to spend a budget; use a Pipeline of scikit-learn."
            )
        names = [name for name, _ in private]
        if len({id(step) for _, step in private}) < len(private):
            raise ValueError(
                "The same object stands in two places, and can have one budget only. Clone it."
            )
        for name, step in private:
            prefix = "" if "ledger" in step.get_params(deep=False) else "estimator__"
            if step.get_params()[f"{prefix}ledger"] is not None:
                raise ValueError(
                    f"Step {name!r} has a ledger of its own. Give the ledger to the pipeline."
                )
        spending = [(type(step).__name__, relation_of(step)) for step in _spending_steps(private)]
        known = [(name, relation) for name, relation in spending if relation is not None]
        relations = {relation for _, relation in known}
        _refuse_several(relations | {statement.neighbours for statement in before}, known)
        if self.split not in SPLITS:
            raise ValueError(f"split must be one of {sorted(SPLITS)}, got {self.split!r}.")
        steps = _spending_steps(private)
        if self.split != "sums" and n_fixed_beforehand(steps) < len(steps):
            raise ValueError(
                f"split={self.split!r} needs noise that is fixed beforehand, but a step releases "
                "how many columns leave it, on which the noise of later ones depends. Use "
                "split='sums'."
            )
        whole = PrivacyBudget(float(self.epsilon), float(self.delta))
        split = SPLITS[self.split]
        return whole, split, shares_of(names, self.shares)

    def _budgets(self, whole, split, shares, n_spends, data):
        """Return what each step may spend, so that all keep the budget, or refuse all of them."""
        if len(split.rules) == 1:
            return split.budgets(whole, shares)
        for rule in split.rules:
            budgets = rule.budgets(whole, shares)
            promised = self._rehearsed(budgets, n_spends, *data)
            _refuse_several({statement.neighbours for statement in promised})
            if rule.keeps(whole, promised):
                return budgets
        raise BudgetExceededError(
            f"The steps together would break the pipeline's budget, epsilon = {whole.epsilon:g}, "
            f"delta = {whole.delta:g}, as their noise is not nearly Gaussian. Use split='sums', "
            "which holds for every kind of step. Nothing was spent."
        )

    def _rehearsed(self, budgets, n_spends, X, y, params):
        """Return what the steps will promise, from made-up rows."""
        rehearsal = Rehearsal(n_spends)
        twin, _ = self._twin(budgets, rehearsal)
        try:
            return rehearsed(twin, rehearsal, X, y, params)
        except CannotRehearseError as error:
            raise ValueError(
                f"split={self.split!r} is planned on made-up rows, zeros or ones and empty texts, "
                f"which a step does not take: {error.__cause__}. Use split='sums'."
            ) from None

    def _twin(self, budgets, rehearsal):
        """Return a pipeline of clones that spend in a rehearsal, and what it is made of."""
        twin = Pipeline(clone(self).steps)
        found = walked(twin, self.public)
        steps = [step for step, check in found if check.kind == "private"]
        for step, budget in zip(steps, budgets, strict=True):
            set_budget(step, budget.epsilon, budget.delta, rehearsal)
        return twin, found

    def _refuse_inadmissible(self, ledger, budgets, data):
        """Refuse rows that a step would refuse when something is paid for.

        A first private step looks at all rows itself before it spends, unless it stands beside
        others, or what all steps spend was reserved before.
        """
        rehearsal = Rehearsal(1)
        twin, found = self._twin(budgets, rehearsal)
        given_rows = paths(twin.steps, found)
        if len(given_rows) > 1 or isinstance(ledger, PrivacyLedger):
            for path in given_rows:
                admit(path, rehearsal, *data)

    def _payer(self, ledger, private, budgets, unit, data):
        """Return what pays for the steps; a ledger that cannot pay for all refuses here."""
        steps = _spending_steps(private)
        return payer(
            ledger,
            budgets,
            lambda: [said_of(unit, s) for s in self._rehearsed(budgets, len(steps), *data)],
            fixed=n_fixed_beforehand(steps) == len(steps),
            purpose=type(self).__name__,
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


def _spending_steps(private):
    """Return the steps that spend; a private pipeline within spends for each of its own."""
    spending = []
    for _, step in private:
        if isinstance(step, PrivatePipeline):
            inner = walked(step, step.public)
            own = [(check.name, part) for part, check in inner if check.kind == "private"]
            spending.extend(_spending_steps(own))
        else:
            spending.append(step)
    return spending


def _unit(private, before):
    """Return what all steps protect, or refuse."""
    named = [(type(step).__name__, unit_of(step)) for step in _spending_steps(private)]
    return shared_unit([*named, *(("a frozen step", said.unit) for said in before)])


def _refuse_several(relations, steps=()):
    if len(relations) > 1:
        told = "; ".join(f"{name}: {relation.value}" for name, relation in steps)
        raise ValueError(
            f"Guarantees for different neighbouring relations "
            f"({', '.join(sorted(r.value for r in relations))}) do not add up. Choose steps, "
            "or their neighbours or sampling, of one relation."
            + (f" Steps: {told}." if told else "")
        )
