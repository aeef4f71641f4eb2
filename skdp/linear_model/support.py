"""Which features a released linear model uses."""

import numpy as np
from scipy import sparse

from skdp._admission import check_is_fitted


class ReleasedSupportMixin:
    """Feature selection by released weights, which costs nothing."""

    def get_support(self, indices=False):
        """Return which features have a released weight other than zero.

        Parameters
        ----------
        indices : bool, default=False
            Return the places of the features instead of a mask.

        Returns
        -------
        ndarray of shape (n_features,) of bool, or of int
            A function of the released weights alone, so it costs no budget.
        """
        check_is_fitted(self)
        if sparse.issparse(self.coef_):
            mask = np.asarray((self.coef_ != 0).sum(axis=0)).ravel() > 0
        else:
            mask = np.any(np.atleast_2d(self.coef_) != 0, axis=0)
        return np.flatnonzero(mask) if indices else mask
