"""Raw weights of a fitted model that is wrapped: they are kept, and leave in no other way."""

import sys

from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

#: Modules of scikit-learn that print estimators.
PRINTERS = ("sklearn.utils._pprint", "sklearn.utils._repr_html", "sklearn.utils._estimator_html")


class HiddenWeightsMixin:
    """A wrapper whose parameter `estimator` may be fitted: neither saved nor printed fitted."""

    @property
    def _model(self):
        """The wrapped model, out of its FrozenEstimator."""
        frozen = isinstance(self.estimator, FrozenEstimator)
        return self.estimator.estimator if frozen else self.estimator

    def _without_weights(self):
        """Return the parameter `estimator` as it was before it was fitted."""
        try:
            unfitted = clone(self._model)
        except (TypeError, RuntimeError):  # no estimator of scikit-learn
            return None
        return FrozenEstimator(unfitted) if self._model is not self.estimator else unfitted

    def __getstate__(self):
        """Leave raw weights out of what a fitted wrapper is saved or copied as."""
        state = super().__getstate__()
        return {**state, "estimator": self._without_weights()} if "privacy_" in state else state

    def get_params(self, deep=True):
        """Return the parameters; raw weights of a frozen model are never printed.

        Parameters
        ----------
        deep : bool, default=True
            Whether to return the wrapped model's parameters too.

        Returns
        -------
        dict
            Names and values.
        """
        params = super().get_params(deep=deep)
        # scikit-learn prints the fitted attributes of parameters that are estimators, and asks
        # for them here; it has no hook.
        if not sys._getframe(1).f_globals.get("__name__", "").startswith(PRINTERS):
            return params
        shown = {**params, "estimator": self._without_weights()}
        return {**shown, "random_state": None} if hasattr(self, "privacy_") else shown
