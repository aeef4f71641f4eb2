"""What every private estimator shares: numbers, budget, randomness, a seed that stays inside."""

import copy
import sys
import warnings

from sklearn.base import BaseEstimator

from skdp._random import RandomSource
from skdp._validation import is_real
from skdp.exceptions import PrivacyLeakWarning
from skdp.privacy import PrivacyBudget

SEED_WARNING = (
    "random_state is set: whoever knows it can subtract the noise. Use it for tests; leave it None "
    "for a release."
)


class PrivateEstimator(BaseEstimator):
    """Base of the estimators with `epsilon`, `delta`, `ledger`, `random_state` and `privacy_`."""

    def _number(self, name):
        """Return a parameter as float64: in numpy's float32, bounds would be rounded to 2^-24."""
        value = getattr(self, name)
        if not is_real(value):
            raise TypeError(f"{name} must be a number, got {value!r}.")
        try:
            return float(value)
        except OverflowError:
            raise ValueError(f"{name} is too large for float64.") from None

    def _budget(self):
        return PrivacyBudget(self._number("epsilon"), self._number("delta"))

    def _random_source(self, stacklevel):
        """Return the source of one fit; a seed warns, `stacklevel` frames above the caller."""
        rng = RandomSource.for_state(self.random_state)
        if rng.seeded:
            warnings.warn(SEED_WARNING, PrivacyLeakWarning, stacklevel=stacklevel + 1)
        return rng

    def __getstate__(self):
        """Leave the seed out of what a fitted model is saved or copied as."""
        state = super().__getstate__()
        return {**state, "random_state": None} if "privacy_" in state else state

    def get_params(self, deep=True):
        """Return the parameters; the seed of a fitted model is kept, but never printed.

        Parameters
        ----------
        deep : bool, default=True
            Without effect: no parameter is an estimator.

        Returns
        -------
        dict
            Names and values.
        """
        params = super().get_params(deep=deep)
        # scikit-learn prints estimators, nested ones too, from their parameters; it has no hook.
        printed = sys._getframe(1).f_globals.get("__name__") == "sklearn.utils._pprint"
        return {**params, "random_state": None} if printed and hasattr(self, "privacy_") else params

    def _get_params_html(self, *args, **kwargs):
        return super(PrivateEstimator, copy.copy(self))._get_params_html(*args, **kwargs)
