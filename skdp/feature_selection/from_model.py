"""The features that a private model keeps; costs nothing beyond the model."""

import copy
import sys
from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags

from skdp._admission import HasMethods, Interval, fit_context
from skdp._estimator import PrivateEstimator
from skdp.feature_selection.selector import ReleasedSelectorMixin
from skdp.linear_model import PrivateElasticNetClassifier

#: Modules that print estimators; scikit-learn has no hook for that.
_PRINTERS = ("sklearn.utils._pprint", "sklearn.utils._repr_html", "sklearn.utils._estimator_html")


class PrivateSelectFromModel(MetaEstimatorMixin, ReleasedSelectorMixin, BaseEstimator):
    """Select the features whose released weights are large in a private linear model.

    The weights are released by the model, with noise, at the model's cost. The choice is a function
    of them alone (post-processing), so weights and choice can both be published for one price.

    Parameters
    ----------
    estimator : estimator, default=None
        A private estimator with `coef_` after `fit`, which is cloned and fitted; or a fitted one in
        :class:`~sklearn.frozen.FrozenEstimator`, and then `fit` reads no value of the data and
        spends nothing. None is ``PrivateElasticNetClassifier(threshold="auto")``, which keeps the
        weights that noise alone would pass at most once.
    threshold : None or float, default=None
        Features are kept whose importance, the largest absolute weight over the classes, is at
        least this. None keeps what the model keeps: its `get_support()`, that is, what passes a
        `threshold` of its own; refused for a model that has none, unless `max_features` is set.
    max_features : None or int, default=None
        Keep at most so many, those of the greatest importance.

    Attributes
    ----------
    estimator_ : estimator
        The fitted private model.
    support_ : ndarray of shape (n_features,) of bool
        The selected features.
    privacy_ : PrivacyStatement
        The statement of the model: it covers the selection.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if X had string column names.

    Raises
    ------
    ValueError, TypeError
        For an estimator that makes no privacy statement, or has no `coef_` (which shows after it
        was fitted, and has spent), and whatever the estimator refuses.

    Notes
    -----
    *Guarantees.* Those of the model, ``privacy_``. scikit-learn's
    :class:`~sklearn.feature_selection.SelectFromModel` on a private model promises no less, but
    accepts any model and any threshold, such as one that was tuned on the private rows.

    Noise on all weights grows with the root of the number of columns; with many more columns than
    rows use :class:`PrivateSelectKBest`.

    ``transform`` of private rows gives private rows; a model fitted on them spends again. A
    selection for which no weight is large enough is empty, which most models refuse to be fitted
    on; that is a function of released weights, too.

    The parameter `estimator` keeps a seed, as scikit-learn demands; what is printed of a fitted
    selector, or saved, does not.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.feature_selection import PrivateSelectFromModel
    >>> y = np.arange(4000) % 2
    >>> X = np.random.RandomState(0).uniform(-0.3, 0.3, size=(4000, 8))
    >>> X[:, 2] += 0.6 * y - 0.3
    >>> selector = PrivateSelectFromModel().fit(X, y)
    >>> bool(selector.get_support()[2])
    True
    >>> selector.privacy_.epsilon
    1.0
    """

    _parameter_constraints = {  # noqa: RUF012  (scikit-learn's convention)
        "estimator": [HasMethods("fit"), None],
        "threshold": [Interval(Real, 0, None, closed="left"), None],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(self, estimator=None, *, threshold=None, max_features=None):
        self.estimator = estimator
        self.threshold = threshold
        self.max_features = max_features

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, **fit_params):
        """Fit the model, which spends, and keep the features of large released weights.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Private rows.
        y : array-like of shape (n_samples,), default=None
            What the model takes.
        **fit_params : dict
            More arguments of the model's `fit`, such as `sample_weight`.

        Returns
        -------
        self
            With the selection.
        """
        model = self._private_model()
        self._refuse_to_keep_all(model)
        self.estimator_ = model.fit(X, y, **fit_params)
        if not hasattr(model, "coef_"):
            raise ValueError(f"{_name(model)} has no coef_ by which to select features.")
        self.privacy_ = model.privacy_
        self.n_features_in_ = model.n_features_in_
        vars(self).pop("feature_names_in_", None)
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_
        self.support_ = self._selected(model)
        return self

    def _private_model(self):
        if self.estimator is None:
            return PrivateElasticNetClassifier(threshold="auto")
        model = clone(self.estimator)
        if not isinstance(model, PrivateEstimator) and not hasattr(model, "privacy_"):
            raise ValueError(
                f"{_name(model)} makes no privacy statement: features selected by its weights "
                "would tell about single rows. Pass a private estimator, such as "
                "PrivateElasticNetClassifier."
            )
        known = isinstance(model, PrivateEstimator)
        if known and not (hasattr(type(model), "coef_") or hasattr(type(model), "get_support")):
            raise ValueError(
                f"{_name(model)} has no coef_ by which to select features. Pass a linear one, such "
                "as PrivateElasticNetClassifier."
            )
        return model

    def _refuse_to_keep_all(self, model):
        """Noise is 0 nowhere: a model that drops nothing would select every feature."""
        drops = getattr(model, "threshold", None) is not None or getattr(model, "selector", None)
        if self.threshold is None and self.max_features is None and not drops:
            raise ValueError(
                f"{_name(model)} sets no weight to zero, so every feature would be selected. Set "
                "threshold='auto' of the model where it has one, or threshold or max_features here."
            )

    def _selected(self, model):
        """A function of released weights and parameters alone."""
        importances = _importances(model.coef_)
        if self.threshold is not None:
            mask = importances >= float(self.threshold)
        elif hasattr(model, "get_support"):
            mask = model.get_support().copy()
        else:
            mask = importances > 0
        if self.max_features is not None and mask.sum() > self.max_features:
            order = np.argsort(-np.where(mask, importances, -1.0), kind="stable")
            mask[order[self.max_features :]] = False
        return mask

    def __getstate__(self):
        """Leave the seed of the model out of what a fitted selector is saved or copied as."""
        state = super().__getstate__()
        return {**state, "estimator": _seedless(self.estimator)} if "privacy_" in state else state

    def get_params(self, deep=True):
        """Return the parameters; a seed of the model is kept, but not printed once it is fitted.

        Parameters
        ----------
        deep : bool, default=True
            With those of the model.

        Returns
        -------
        dict
            Names and values.
        """
        printed = str(sys._getframe(1).f_globals.get("__name__")).startswith(_PRINTERS)
        shown = copy.copy(self) if printed else self
        return super(PrivateSelectFromModel, shown).get_params(deep=deep)

    def _get_params_html(self, *args, **kwargs):
        return super(PrivateSelectFromModel, copy.copy(self))._get_params_html(*args, **kwargs)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(
            PrivateElasticNetClassifier() if self.estimator is None else self.estimator
        )
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.target_tags.required = inner.target_tags.required
        tags.non_deterministic = self.estimator is None  # which leaves nothing to seed
        return tags


def _importances(coef):
    """Return the largest absolute weight of each feature over the outputs."""
    weights = coef.toarray() if sparse.issparse(coef) else np.asarray(coef)
    return np.abs(np.atleast_2d(weights)).max(axis=0)


def _seedless(model):
    """Return an unfitted model without its seed; one that is frozen prints none."""
    if model is None or isinstance(model, FrozenEstimator):
        return model
    params = model.get_params(deep=True)
    seeds = [name for name in params if name.split("__")[-1] == "random_state"]
    return clone(model).set_params(**dict.fromkeys(seeds))


def _name(model):
    return type(getattr(model, "estimator", model)).__name__
