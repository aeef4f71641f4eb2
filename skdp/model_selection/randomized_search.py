"""Randomised search on private rows."""

from numbers import Integral

from sklearn.model_selection import ParameterSampler

from skdp._admission import Interval
from skdp.model_selection.private_search import PrivateSearch
from skdp.model_selection.shared_docs import COMMON

__all__ = ["PrivateRandomizedSearchCV"]


class PrivateRandomizedSearchCV(PrivateSearch):  # noqa: D101  (built below)
    __doc__ = f"""Search among candidates drawn from public distributions that pays for its choice.

    Parameters
    ----------
    estimator : estimator
        A private estimator of skdp, or a pipeline with one.
    param_distributions : dict or list of dict
        Public, as for :class:`sklearn.model_selection.RandomizedSearchCV`.
    n_iter : int, default=10
        Number of candidates that are drawn, without looking at the rows. It is public, and not the
        number of trials.{COMMON}
    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import loguniform
    >>> from skdp.linear_model import PrivateElasticNetClassifier
    >>> from skdp.model_selection import PrivateRandomizedSearchCV
    >>> X, y = np.repeat([[1.0, 0.0], [0.0, 1.0]], 300, axis=0), np.repeat([0, 1], 300)
    >>> model = PrivateElasticNetClassifier(classes=[0, 1])
    >>> search = PrivateRandomizedSearchCV(model, {{"alpha": loguniform(1e-3, 1)}}).fit(X, y)
    >>> sorted(search.best_params_)
    ['alpha']
    """

    _parameter_constraints = {  # noqa: RUF012
        **PrivateSearch._parameter_constraints,
        "param_distributions": [dict, list],
        "n_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        estimator,
        param_distributions,
        *,
        n_iter=10,
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
        self.param_distributions = param_distributions
        self.n_iter = n_iter

    def _params(self, rng):
        seed = int(rng.words(1)[0] >> 33)
        return list(ParameterSampler(self.param_distributions, int(self.n_iter), random_state=seed))
