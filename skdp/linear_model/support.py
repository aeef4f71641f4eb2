"""Which features a released linear model uses."""

import numpy as np
from scipy import sparse

from skdp._admission import check_is_fitted
from skdp.mechanisms import AdditiveMechanism
from skdp.stability.selection import WeightThreshold


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


class ThresholdedWeightsMixin(ReleasedSupportMixin):
    """Weights released by one mechanism, `_mechanism`, and set to zero below `threshold_`."""

    def _weight_threshold(self, mechanism, n_weights):
        """Turn the parameter `threshold` into a rule; a function of public facts."""
        threshold = self.threshold
        if threshold not in (None, "auto"):
            threshold = self._number("threshold")
        return WeightThreshold.named(threshold, mechanism, n_weights)

    def flip_probability(self, weight):
        """Return the probability that noise flips the decision on a feature.

        The decision is whether the feature is kept. Without noise a feature of weight 0 is
        dropped and any other is kept; the released one is kept when its noisy weight reaches
        ``threshold_`` in absolute value.

        Parameters
        ----------
        weight : float or array-like
            Hypothetical or released weight; never a non-private one.

        Returns
        -------
        ndarray
            Probabilities, in the shape of `weight`.
        """
        check_is_fitted(self)
        if not isinstance(self._mechanism, AdditiveMechanism):
            raise ValueError(
                "flip_probability needs the law of the noise on a weight, which depends on the "
                "data where the objective was perturbed. Use perturbation='output'."
            )
        return WeightThreshold(self.threshold_).flip_probability(weight, self._mechanism)
