"""What every private estimator shares: numbers, budget, randomness, a seed that stays inside."""

import copy
import os
import sys
import warnings

from sklearn.base import BaseEstimator

from skdp._random import RandomSource
from skdp._validation import is_real, wide_integers
from skdp.exceptions import PrivacyLeakWarning
from skdp.privacy import PrivacyBudget
from skdp.privacy.privacy_ledger import as_ledger

SEED_WARNING = (
    "random_state is set: whoever knows it can subtract the noise. Use it for tests; leave it None "
    "for a release."
)


class _LedgerParameter:
    """The ledger that a parameter names: itself, or that of the file at a path."""

    def __get__(self, estimator, owner=None):
        if estimator is None:
            return self
        try:
            given = vars(estimator)["ledger"]
        except KeyError:
            raise AttributeError("ledger") from None
        return as_ledger(given)

    def __set__(self, estimator, given):
        vars(estimator)["ledger"] = given


class PrivateEstimator(BaseEstimator):
    """Base of the estimators with `epsilon`, `delta`, `ledger`, `random_state` and `privacy_`."""

    ledger = _LedgerParameter()

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

    def _spend(self, statement, action="fit"):
        """Charge the ledger, if there is one, before the rows are touched."""
        ledger = self.ledger
        if ledger is not None:
            told = self.get_params(deep=False)
            public = {name: told[name] for name in told if name not in ("ledger", "random_state")}
            purpose = f"{type(self).__name__}.{action}"
            ledger.spend(statement, purpose=purpose, parameters=public)

    def _warn_of_large_delta(self, n_records, stacklevel):
        """Warn of a delta that publishing one row would keep, `stacklevel` frames above."""
        if n_records is not None and self._number("delta") >= 1 / n_records:
            warnings.warn(
                f"delta={self.delta!r} is at least 1 / n_samples = {1 / n_records:.3g}: publishing "
                "one row in full would keep such a promise. Set it well below.",
                PrivacyLeakWarning,
                stacklevel=stacklevel + 1,
            )

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
        given = vars(self).get("ledger")
        if isinstance(given, str | os.PathLike):  # as it was given: the file is not opened for that
            bare = super(PrivateEstimator, self._without_ledger())
            params = {**bare.get_params(deep=deep), "ledger": given}
        else:
            params = super().get_params(deep=deep)
        # scikit-learn prints estimators, nested ones too, from their parameters; it has no hook.
        printed = sys._getframe(1).f_globals.get("__name__") == "sklearn.utils._pprint"
        return {**params, "random_state": None} if printed and hasattr(self, "privacy_") else params

    def _without_ledger(self):
        shell = object.__new__(type(self))
        vars(shell).update(vars(self), ledger=None)
        return shell

    def _validate_params(self):
        """Check the parameters; a path is a ledger if a ledger is there."""
        neither = ("random_state", "classes")  # of which no products are made
        wide_integers({name: value for name, value in vars(self).items() if name not in neither})
        if isinstance(vars(self).get("ledger"), str | os.PathLike):
            _ = self.ledger
            super(PrivateEstimator, self._without_ledger())._validate_params()
        else:
            super()._validate_params()

    def _get_params_html(self, *args, **kwargs):
        return super(PrivateEstimator, copy.copy(self))._get_params_html(*args, **kwargs)
