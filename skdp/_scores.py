"""From scores to classes and probabilities."""

import numpy as np
from scipy.special import expit, log_expit, log_softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.extmath import softmax
from sklearn.utils.metaestimators import available_if

#: Scores beyond are cut to it, so that differences of scores are numbers.
LARGEST_SCORE = 1e300


def finite_scores(scores):
    """Return scores as numbers of moderate size; 0 where opposite infinite terms left none.

    Examples
    --------
    >>> finite_scores(np.array([1.5, np.inf, np.nan]))
    array([1.5e+000, 1.0e+300, 0.0e+000])
    """
    limit = min(LARGEST_SCORE, float(np.finfo(scores.dtype).max) / 4)
    return np.clip(np.nan_to_num(scores, nan=0.0), -limit, limit)


def _has_probabilities(model):
    if getattr(model, "loss", "log_loss") == "log_loss":
        return True
    raise AttributeError(f"Probabilities need loss='log_loss'; this model has loss={model.loss!r}.")


class ScoreClassifierMixin(ClassifierMixin):
    """Classifier whose `_scores(X)` gives scores of shape (n_samples, n_outputs)."""

    def decision_function(self, X):
        """Return the scores of rows.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Above 0 means ``classes_[1]`` for two classes, otherwise the largest wins.
        """
        scores = self._scores(X)
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X):
        """Return the predicted class labels, shape (n_samples,)."""
        scores = self.decision_function(X)
        places = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[places]

    def _log_odds(self, X):
        """Scores times `probability_factor_`, of models that have one."""
        return self.decision_function(X) * getattr(self, "probability_factor_", 1.0)

    @available_if(_has_probabilities)
    def predict_proba(self, X):
        """Return class probabilities, shape (n_samples, n_classes); for loss="log_loss"."""
        scores = self._log_odds(X)
        if scores.ndim > 1:
            return softmax(scores, copy=False)
        positive_class = expit(scores)
        return np.column_stack([1 - positive_class, positive_class])

    @available_if(_has_probabilities)
    def predict_log_proba(self, X):
        """Return log probabilities, shape (n_samples, n_classes); for loss="log_loss"."""
        scores = self._log_odds(X)
        if scores.ndim > 1:
            return log_softmax(scores, axis=1)
        return np.column_stack([log_expit(-scores), log_expit(scores)])
