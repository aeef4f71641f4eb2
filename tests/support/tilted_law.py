"""The exact law of a tilted minimiser, by quadrature on a grid of weights.

The minimiser w of n F(w) + <b, w> has b = -gradient of n F at w, hence the density of b there times
the determinant of the second derivative of n F. Nothing here comes from the mechanism but the
scale of b; objectives are written out anew.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, gammaln


@dataclass(frozen=True)
class Margins:
    """``sum_i s_i loss(x_i w; y_i) + (curvature / 2) norm(w)^2`` of one output, on any w."""

    X: np.ndarray
    y: np.ndarray
    curvature: float
    slope: object
    bend: object
    weights: np.ndarray | float = 1.0

    def minus_tilt(self, w):
        """Gradient at points w of shape (m, d)."""
        scores = w @ self.X.T
        return (self.weights * self.slope(scores, self.y)) @ self.X + self.curvature * w

    def log_determinant(self, w):
        """Of the second derivative."""
        scores = w @ self.X.T
        size = self.X.shape[1]
        bends = self.weights * self.bend(scores, self.y)
        second = np.einsum("mi,ij,ik->mjk", bends, self.X, self.X)
        return np.linalg.slogdet(second + self.curvature * np.eye(size))[1]


def logistic(X, y, curvature, weights=1.0):
    """Margins of the logistic loss."""
    return Margins(
        np.asarray(X, dtype=float), np.asarray(y, dtype=float), curvature,
        lambda m, y: -y * expit(-y * m), lambda m, y: expit(m) * expit(-m), weights,
    )  # fmt: skip


def log_cosh(X, y, curvature, threshold=1.0):
    """Margins of the log-cosh loss."""
    return Margins(
        np.asarray(X, dtype=float), np.asarray(y, dtype=float), curvature,
        lambda m, y: threshold * np.tanh((m - y) / threshold),
        lambda m, y: 1 / np.cosh(np.clip((m - y) / threshold, -300, 300)) ** 2,
    )  # fmt: skip


def gaussian_tilt(scale):
    """Log density of N(0, scale^2 I)."""

    def log_density(b):
        size = b.shape[1]
        return -(b**2).sum(1) / (2 * scale**2) - size * np.log(scale * np.sqrt(2 * np.pi))

    return log_density


def laplace_tilt(scale):
    """Log density of exp(-norm(b) / scale)."""

    def log_density(b):
        size = b.shape[1]
        area = np.log(2) + size / 2 * np.log(np.pi) - gammaln(size / 2)
        return -np.linalg.norm(b, axis=1) / scale - size * np.log(scale) - gammaln(size) - area

    return log_density


def log_densities(objective, log_density, w):
    """Log density of the minimiser at points w of shape (m, d)."""
    return log_density(objective.minus_tilt(w)) + objective.log_determinant(w)


def hockey_stick(first, second, cell, epsilons):
    """``int (p - e^epsilon q)_+`` at each epsilon, of log densities on cells of a given volume."""
    return np.array(
        [np.maximum(np.exp(first) - np.exp(e + second), 0).sum() * cell for e in epsilons]
    )


def square_grid(centre, half_width, points):
    """Points of a plane, shape (points^2, 2), and the area of a cell."""
    axes = [np.linspace(c - half_width, c + half_width, points) for c in centre]
    cell = (axes[0][1] - axes[0][0]) * (axes[1][1] - axes[1][0])
    return np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2), cell


def line_grid(low, high, points):
    """Points of a line, shape (points, 1), and the length of a cell."""
    axis = np.linspace(low, high, points)
    return axis[:, None], axis[1] - axis[0]
