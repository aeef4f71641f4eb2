"""Grid search on private rows."""

from sklearn.model_selection import ParameterGrid

from skdp.model_selection.private_search import PrivateSearch
from skdp.model_selection.shared_docs import COMMON

__all__ = ["PrivateGridSearchCV"]


class PrivateGridSearchCV(PrivateSearch):  # noqa: D101  (built below)
    __doc__ = f"""Grid search that pays for its choice.

    Parameters
    ----------
    estimator : estimator
        A private estimator of skdp, or a pipeline with one. Its budget, ledger and seed are set by
        the search.
    param_grid : dict or list of dict
        Public, as for :class:`sklearn.model_selection.GridSearchCV`.{COMMON}
    Examples
    --------
    >>> import numpy as np
    >>> from skdp.linear_model import PrivateElasticNetClassifier
    >>> from skdp.model_selection import PrivateGridSearchCV
    >>> X = np.repeat([[1.0, 0.0], [0.0, 1.0]], 300, axis=0)
    >>> y = np.repeat([0, 1], 300)
    >>> model = PrivateElasticNetClassifier(classes=[0, 1])
    >>> search = PrivateGridSearchCV(model, {{"alpha": [0.01, 0.1, 1.0]}}, epsilon=2.0).fit(X, y)
    >>> search.privacy_
    PrivacyStatement(epsilon=2, delta=..., neighbours=replace-one, unit=row)
    >>> len(search.cv_results_["params"])
    1
    """

    _parameter_constraints = {  # noqa: RUF012
        **PrivateSearch._parameter_constraints,
        "param_grid": [dict, list],
    }

    def __init__(
        self,
        estimator,
        param_grid,
        *,
        epsilon=1.0,
        delta=0.0,
        strategy="random",
        trials="auto",
        n_trials=10.0,
        held_out=0.2,
        error_bound=1.0,
        n_jobs=None,
        verbose=0,
        ledger=None,
        random_state=None,
    ):
        super().__init__(
            estimator,
            epsilon=epsilon,
            delta=delta,
            strategy=strategy,
            trials=trials,
            n_trials=n_trials,
            held_out=held_out,
            error_bound=error_bound,
            n_jobs=n_jobs,
            verbose=verbose,
            ledger=ledger,
            random_state=random_state,
        )
        self.param_grid = param_grid

    def _params(self, rng):
        return list(ParameterGrid(self.param_grid))
