"""Methods of a search that are those of its winner."""

from sklearn.utils.metaestimators import available_if

from skdp._admission import check_is_fitted


def _has(name):
    return lambda search: hasattr(getattr(search, "best_estimator_", search.estimator), name)


class WinnerMethodsMixin:
    """What `best_estimator_` can do, of a search that was fitted."""

    @available_if(_has("predict"))
    def predict(self, X):
        """Predict with the winner."""
        return self._winner().predict(X)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X):
        """Return the winner's probabilities."""
        return self._winner().predict_proba(X)

    @available_if(_has("predict_log_proba"))
    def predict_log_proba(self, X):
        """Return the winner's log probabilities."""
        return self._winner().predict_log_proba(X)

    @available_if(_has("decision_function"))
    def decision_function(self, X):
        """Return the winner's decision function."""
        return self._winner().decision_function(X)

    @available_if(_has("score"))
    def score(self, X, y=None):
        """Return the winner's own score on rows; no noise is added, nothing is charged."""
        return self._winner().score(X, y)

    def _winner(self):
        check_is_fitted(self)
        return self.best_estimator_
