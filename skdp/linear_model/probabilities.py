"""Probabilities of a released linear model, corrected for what is public of how it came about.

Scores are multiplied by one factor before they become probabilities: for the noise on them, or for
the clipping of the gradients that they were learnt from. Both are functions of public facts and
released numbers, so they cost nothing. A positive factor changes no prediction, nor the order of
the classes of a row; of several classes, it may change which of two rows is likelier of one class.
"""

import math

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, ndtri

from skdp._admission import StrOptions
from skdp._scores import ScoreClassifierMixin

NOISE_CONSTRAINTS = {"probability_correction": [StrOptions({"noise"}), None]}
#: Where "auto" corrects for clipping: so many rows a column, columns, and n mu at least.
ROWS_PER_COLUMN, FEWEST_COLUMNS, LEAST_SIGNAL = 100, 3, 1000.0
_N_NODES, _SMALLEST_FACTOR = 1024, 0.01


def noise_factor(deviation, n_classes=2):
    r"""Return the factor of scores that have normal noise of this standard deviation.

    .. math:: \mathbb E\, \sigma(m + \sqrt v Z) \approx \sigma\Big(\frac{m}{\sqrt{1 + \pi v / 8}}
              \Big), \qquad Z \sim \mathcal N(0, 1)

    within 0.018 for all m and v. Of K > 2 scores with noise each, v is multiplied by K / (K - 1),
    as in the difference of one from the mean of the others: an approximation, near the best factor
    up to ten classes and too small a one for many.

    Parameters
    ----------
    deviation : float
        Of the noise on one score.
    n_classes : int, default=2

    Returns
    -------
    float
        In [0, 1].

    References
    ----------
    MacKay (1992), The evidence framework applied to classification networks.

    Examples
    --------
    >>> round(noise_factor(1.0), 3)
    0.847
    """
    beside = 1 if n_classes == 2 else n_classes / (n_classes - 1)
    return 1 / math.hypot(1.0, math.sqrt(math.pi / 8 * beside) * deviation)


def clipped_log_shares(scores, threshold):
    r"""Return the log shares of labels for which clipped gradients of these scores cancel.

    The gradient of a record of class y with predicted probabilities p is its row times p - e_y. If
    that is clipped by :math:`g_y = \min(1, c / \lVert p - e_y \rVert)`, descent comes to rest where

    .. math:: \sum_y q_y\, g_y\, (p - e_y) = 0, \quad\text{so}\quad q_y \propto p_y / g_y

    q being the true shares of labels among such rows: clipping takes from the rows that are
    predicted badly, so that p is too sure.

    Parameters
    ----------
    scores : ndarray of shape (n, n_outputs)
        Log odds of the second of two classes, or a score of each class.
    threshold : float
        c, the clipping norm in units of the norm of a row with its constant column.

    Returns
    -------
    ndarray of shape (n, n_classes)
        log q.

    References
    ----------
    Bu, Wang, Dai and Long (2023), On the convergence and calibration of deep learning with
    differential privacy: clipping, not noise, is what spoils calibration.

    Examples
    --------
    >>> scores = np.array([[2.0], [4.0]])
    >>> np.exp(clipped_log_shares(scores, 10.0))[:, 1].round(3)  # nothing is clipped
    array([0.881, 0.982])
    >>> np.exp(clipped_log_shares(scores, 0.5))[:, 1].round(3)
    array([0.807, 0.965])
    """
    logs = log_softmax(_of_classes(scores), axis=1)
    shares = np.exp(logs)
    if scores.shape[1] == 1:  # one score, whose derivative is the error itself
        errors = shares[:, ::-1]
    else:
        errors = np.sqrt(np.maximum((shares**2).sum(axis=1, keepdims=True) - 2 * shares + 1, 0.0))
    return log_softmax(logs + np.log(np.maximum(errors / threshold, 1.0)), axis=1)


def clipping_factor(noisy):
    """Return the factor of scores whose probabilities come nearest to `clipped_log_shares`.

    Nearest by the log loss over normal scores: those that the released weights give to rows of
    independent columns of equal variance, more than one or two, so that scores say nothing of the
    norms of rows. For whitened rows that is near the truth; for others it is a guess.

    Parameters
    ----------
    noisy : NoisyWeights
        With `weights` and `clip`.

    Returns
    -------
    float
        In (0, 1].
    """
    scores = _normal_scores(noisy)
    shares = np.exp(clipped_log_shares(scores, noisy.clip / noisy.row_norm))
    of_classes = _of_classes(scores)

    def log_loss(log_factor):
        return -np.sum(shares * log_softmax(math.exp(log_factor) * of_classes, axis=1))

    bounds = (math.log(_SMALLEST_FACTOR), 0.0)
    return math.exp(minimize_scalar(log_loss, bounds=bounds, method="bounded").x)


def _normal_scores(noisy):
    coef, intercept = noisy.weights[:-1], noisy.weights[-1]
    values, vectors = np.linalg.eigh(coef.T @ coef * (noisy.spread**2 / max(len(coef), 1)))
    return _normal_nodes(len(values)) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T + intercept


def _normal_nodes(size):
    """Points that are spread as a normal law is."""
    from scipy.stats import qmc

    return ndtri(qmc.Halton(size, scramble=True, seed=0).random(_N_NODES))


def _of_classes(scores):
    return scores if scores.shape[1] > 1 else np.column_stack([np.zeros(len(scores)), scores])


def by_noise(model):
    """Return the factor for the noise on the score of a typical row, or the longest; 1 for none."""
    if model.noisy is None:
        return 1.0
    return noise_factor(model.noisy.deviation * model.noisy.row_norm, max(len(model.intercept), 2))


def by_clipping(model):
    """Return the factor for clipped gradients, 1 where there are none of rows of known size."""
    if model.noisy is None or model.noisy.clip is None:
        return 1.0
    return clipping_factor(model.noisy)


#: The values of ``probability_correction``, as functions of a released `LinearModel`.
CORRECTIONS = {None: lambda model: 1.0, "noise": by_noise, "clipping": by_clipping}


def automatic_correction(facts):
    """Return the name of the correction that pays for a descent of these facts, or None.

    In whitened coordinates all directions are learnt equally fast, and with so many rows a column
    two classes have, as a rule, no plane between them, along which scores would grow for ever: such
    a descent comes near enough to its rest to show what clipping does.
    """
    many = facts.n_records >= ROWS_PER_COLUMN * facts.n_features
    known = facts.n_features >= FEWEST_COLUMNS and facts.signal >= LEAST_SIGNAL
    return "clipping" if facts.n_outputs == 1 and facts.whitens and many and known else None


class CorrectedProbabilitiesMixin(ScoreClassifierMixin):
    """Classifier that multiplies its scores by `probability_factor_` for its probabilities."""

    def _refuse_idle_correction(self):
        if self.probability_correction is not None and self.loss != "log_loss":
            raise ValueError(
                f"probability_correction={self.probability_correction!r} is for predict_proba, "
                f"which loss={self.loss!r} does not have. Set probability_correction=None."
            )

    def _factor_for_noise(self, deviation):
        """Return the factor for this standard deviation of the noise on a weight, or 1."""
        if self.probability_correction is None:
            return 1.0
        longest = math.hypot(self._number("row_norm"), self._constant() or 0.0)
        return noise_factor(deviation * longest, len(self.classes_))

    def _as_pipeline(self, model):
        """As for other models, but weights are multiplied so that probabilities are the same."""
        pipeline = super()._as_pipeline(model)
        factor = getattr(self, "probability_factor_", 1.0)
        if factor != 1:
            model.coef_, model.intercept_ = model.coef_ * factor, model.intercept_ * factor
        return pipeline
