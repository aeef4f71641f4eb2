"""Methods of a wrapper that are those of the model that it released."""

import copy

import numpy as np
from sklearn.utils.metaestimators import available_if

from skdp._admission import admit_new_rows, check_is_fitted
from skdp.linear_model.clipped_rows import clipped_rows


def _has(name):
    """Whether the wrapped model, once released, has a method."""

    def check(wrapper):
        model = getattr(wrapper, "estimator_", None)
        getattr(wrapper.estimator if model is None else model, name)  # raises AttributeError
        return True

    return available_if(check)


class ReleasedModelMixin:
    """Predictions of `estimator_`, a model of released parameters, for rows clipped as in `fit`."""

    def _hold(self, model):
        """Take a released model, which gets the public names and number of the columns."""
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(model, name, copy.copy(getattr(self, name)))
        self.estimator_ = model
        for name in ("coef_", "intercept_", "classes_"):
            vars(self).pop(name, None)  # of an earlier fit to another model
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))

    def _ask(self, method, X, *others):
        """Call a method of the released model on rows clipped as in `fit`."""
        check_is_fitted(self)
        rows = clipped_rows(self, admit_new_rows(self, X))
        with np.errstate(all="ignore"):
            return getattr(self._nameless(), method)(rows, *others)

    def _nameless(self):
        """Return the released model without names of columns, which clipped rows have lost."""
        model = copy.copy(self.estimator_)
        vars(model).pop("feature_names_in_", None)
        return model

    @_has("predict")
    def predict(self, X):
        """Return the released model's predictions for rows clipped as in `fit`."""
        return self._ask("predict", X)

    @_has("decision_function")
    def decision_function(self, X):
        """Return the released model's scores of rows clipped as in `fit`."""
        return self._ask("decision_function", X)

    @_has("predict_proba")
    def predict_proba(self, X):
        """Return the released model's probabilities for rows clipped as in `fit`."""
        return self._ask("predict_proba", X)

    @_has("predict_log_proba")
    def predict_log_proba(self, X):
        """Return logarithms of the released model's probabilities."""
        return self._ask("predict_log_proba", X)

    @_has("score")
    def score(self, X, y):
        """Return the released model's score on rows clipped as in `fit`."""
        return self._ask("score", X, y)
