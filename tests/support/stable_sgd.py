"""SGD written down once more, plainly, and the pairs of data sets that move it most."""

import itertools
from dataclasses import dataclass

import numpy as np

from skdp.objectives import Loss
from skdp.stability import Domain, GradientUpdate, StableRun
from skdp.stability.sgd_run import Pass


@dataclass(frozen=True)
class Linear(Loss):
    """``-y m``: slope 1 everywhere, no curvature. Every bound is attained on it."""

    smoothness = 0.0
    pull = np.inf
    slope_at_zero = 1.0

    def gradient_bound(self, kappa, radius):
        return 1.0

    def value(self, scores, y):
        return -y * scores

    def derivative(self, scores, y):
        return -y

    def second_derivative(self, scores, y):
        return np.zeros_like(scores)


def soft(w, threshold):
    return np.sign(w) * np.maximum(np.abs(w) - threshold, 0)


def reference(run, X, y, passes, weights=None, dtype=np.float64, l1_step=None):
    """Return the outcome of a run, (n_outputs, n_columns); every formula as in the docs.

    `l1_step(w, eta, l1)` replaces the proximal step of the L1 part.
    """
    constant = run.domain.intercept_scaling
    if constant is not None:
        X = np.column_stack([X, np.full(len(X), constant)])
    X = X.astype(dtype)
    s = np.ones(len(X)) if weights is None else weights
    w, average = np.zeros((2, run.loss.n_outputs, X.shape[1]), dtype=dtype)
    sizes, shares = run.sizes.astype(dtype), run.averaging.weights(run.n_steps).astype(dtype)
    l1 = np.full(X.shape[1], run.l1)
    l1[run.domain.n_features :] = 0.0
    t = 0
    for rows, offsets in passes:
        for batch in (rows[a:b] for a, b in itertools.pairwise(offsets)):
            eta = sizes[t]
            scores = X[batch] @ w.T
            scores = scores[:, 0] if run.loss.n_outputs == 1 else scores
            slopes = (run.loss.derivative(scores, y[batch]).T * s[batch]).astype(dtype)
            step = np.atleast_2d(slopes) @ X[batch] / run.batch_size
            before = w * (1 - eta * run.l2) if isinstance(run.update, GradientUpdate) else w
            w = before - eta * step
            w = soft(w, eta * l1) if l1_step is None else l1_step(w, eta, l1)
            if not isinstance(run.update, GradientUpdate):
                w = w / (1 + eta * run.l2)
            norm = np.sqrt((w * w).sum())
            if norm > run.projection.radius:
                w = w * (run.projection.radius / norm)
            average = average + shares[t] * w
            t += 1
    return average


def in_order(run, orders):
    """Passes over the given orders of the rows."""
    n, b = run.domain.n_samples, run.batch_size
    edges = np.minimum(np.arange(run.steps_per_pass + 1) * b, n)
    return [Pass(np.asarray(order), edges) for order in orders]


def with_record_at(run, places):
    """Passes in which record 0 is in the batch of number `places[j]` in pass j."""
    orders = []
    for place in places:
        order = np.arange(1, run.domain.n_samples)
        orders.append(np.insert(order, place * run.batch_size, 0))
    return in_order(run, orders)


def flipped_pair(n, n_features, norm, rng=None):
    """All rows alike; row 0 points the other way in the second data set."""
    X = np.zeros((n, n_features))
    X[:, 0] = norm
    X_other = X.copy()
    X_other[0] = -X[0]
    return X, X_other


def moved_most(run, X, X_other, y, y_other=None):
    """Largest distance of the outcomes over the places of record 0, the same in each pass."""
    y_other = y if y_other is None else y_other
    distances = []
    for place in range(run.steps_per_pass):
        passes = with_record_at(run, [place] * run.n_passes)
        first, second = reference(run, X, y, passes), reference(run, X_other, y_other, passes)
        distances.append(np.linalg.norm(first - second))
    return max(distances)


def hostile_data(rng, n, d, labels):
    """Yield (X, X', y, y') that differ in record 0: random, alike, opposed, one label."""
    for kind in range(4):
        X = rng.normal(size=(n, d)) * 3
        if kind == 1:
            X[:] = X[0]
        y = rng.choice(labels, size=n)
        if kind == 3:
            y[:] = labels[-1]
        X_other, y_other = X.copy(), y.copy()
        X_other[0] = -X[0] if kind % 2 else rng.normal(size=d) * 9
        y_other[0] = rng.choice(labels)
        yield in_ball(X), in_ball(X_other), y, y_other


def in_ball(X, norm=1.0):
    return X * np.minimum(1, norm / np.maximum(np.linalg.norm(X, axis=1), 1e-300))[:, None]


def run_of(loss, steps, n=12, d=2, n_passes=3, constant=None, max_weight=1.0, **choices):
    domain = Domain(n, d, 1.0, constant, max_weight)
    return StableRun(loss, domain, steps, n_passes, **choices)
