"""Peers written out in NumPy, each at several settings; (epsilon, delta) under add-or-remove-one.

`n` is public in all of them. These are for comparison only: noise from a float generator.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import minimize

from skdp.privacy import PrivacyBudget
from skdp.privacy.gaussian_curve import gaussian_mu
from skdp.training import AllCoordinates, ConstantNoise, PoissonSampler, TrainingPlan


@dataclass(frozen=True)
class Fitted:
    """Scores of rows of norm at most 1 with a constant column."""

    weights: np.ndarray
    constant: float

    def scores(self, X: Any) -> np.ndarray:
        return np.asarray(X @ self.weights[:-1]) + self.constant * self.weights[-1]


@dataclass(frozen=True)
class DPSGD:
    """Averaged DP-SGD on Poisson batches: logistic, softmax or least squares (Abadi 2016)."""

    rate: float
    clip: float
    epochs: int = 20

    name = "DP-SGD in NumPy"

    def fit(self, X, y, n_classes, epsilon, delta, seed) -> Fitted:
        rng = np.random.default_rng(seed)
        n = X.shape[0]
        batch = int(np.clip(n // 16, min(64, n), 1024))
        steps = round(self.epochs * n / batch)
        plan = TrainingPlan(
            PoissonSampler.of_batch_size(batch, n), AllCoordinates(), ConstantNoise(), 1.0, steps, 1
        ).calibrated(PrivacyBudget(epsilon, delta))
        sigma, residuals = plan.noise.level, _residuals(n_classes)
        n_outputs = n_classes if n_classes > 2 else 1
        weights = np.zeros((X.shape[1] + 1, n_outputs))
        total, kept = np.zeros_like(weights), 0
        rows = _with_ones(X)
        norms = np.sqrt(1 + np.asarray((X.multiply(X) if sparse.issparse(X) else X**2).sum(axis=1)))
        norms = norms.ravel()
        for step in range(steps):
            drawn = np.flatnonzero(rng.random(n) < batch / n)
            part = rows[drawn]
            errors = residuals(np.asarray(part @ weights), y[drawn])
            length = np.linalg.norm(errors, axis=1) * norms[drawn]
            errors *= np.minimum(1, self.clip / np.maximum(length, 1e-300))[:, None]
            noise = rng.normal(size=weights.shape) * sigma * self.clip
            weights = weights - self.rate * (np.asarray(part.T @ errors) + noise) / batch
            if step >= steps // 2:
                total, kept = total + weights, kept + 1
        return Fitted(total / kept, 1.0)


@dataclass(frozen=True)
class AdaSSP:
    """Sufficient statistics with one lambda (Wang 2018), mu^2 in three equal parts."""

    name = "AdaSSP"

    def fit(self, X, y, n_classes, epsilon, delta, seed) -> Fitted:
        rng = np.random.default_rng(seed)
        rows = _with_ones(X.toarray() if sparse.issparse(X) else X) / np.sqrt(2)
        d = rows.shape[1]
        codes, length = _codes(y, n_classes)
        std = np.sqrt(3) / gaussian_mu(epsilon, delta)
        noise = np.triu(rng.normal(size=(d, d)), 1) * std / np.sqrt(2)
        noise = noise + noise.T + np.diag(rng.normal(size=d) * std)
        gram = rows.T @ rows
        smallest = np.linalg.eigvalsh(gram)[0] + rng.normal() * std - 1.65 * std
        ridge = max(0.0, np.sqrt(d * np.log(2 * d**2 / 0.05)) * std - max(0.0, smallest))
        cross = rows.T @ codes + rng.normal(size=(d, codes.shape[1])) * std * length
        solved = np.linalg.solve(gram + noise + (ridge + 1e-6) * np.eye(d), cross)
        return Fitted(solved / np.sqrt(2), 1.0)


@dataclass(frozen=True)
class BoostedAdaSSP:
    """Sums of rows times clipped residuals, solved by one private moment matrix (Tang et al. 2024).

    As published: a third of mu^2 for the moments, one for their smallest eigenvalue, one for the
    rounds; no shrinkage.
    """

    clip: float
    rounds: int

    name = "BoostedAdaSSP"

    def fit(self, X, y, n_classes, epsilon, delta, seed) -> Fitted:
        rng = np.random.default_rng(seed)
        rows = _with_ones(X) / np.sqrt(2)
        d = rows.shape[1]
        std = np.sqrt(3) / gaussian_mu(epsilon, delta)
        noise = np.triu(rng.normal(size=(d, d)) * std)
        gram = rows.T @ rows
        smallest = np.linalg.eigvalsh(gram)[0] + std * (rng.normal() - 1.96)
        ridge = max(0.0, 1.96 * np.sqrt(d) * std - max(0.0, smallest))
        private = gram + noise + np.triu(noise, 1).T + ridge * np.eye(d)
        weights, std = np.zeros((d, 1)), std * self.clip * np.sqrt(self.rounds)
        for _ in range(self.rounds):
            residuals = np.clip(y[:, None] - rows @ weights, -self.clip, self.clip)
            cross = rows.T @ residuals + rng.normal(size=weights.shape) * std
            weights = weights + np.linalg.solve(private, cross)
        return Fitted(weights / np.sqrt(2), 1.0)


@dataclass(frozen=True)
class AMP:
    """Approximate minima perturbation, logistic (Iyengar et al. 2019), a class against the rest.

    `share` is that part of epsilon that pays for the noise of the objective; None is the published
    rule without parameters. One hundredth of (epsilon, delta) pays for the second noise. Rows with
    their constant have norm 1, so a gradient has at most 1 and a curvature 1/4; for zero-out both
    count once, of which the publication counts two.
    """

    share: float | None

    name = "AMP"

    def fit(self, X, y, n_classes, epsilon, delta, seed) -> Fitted:
        rng = np.random.default_rng(seed)
        rows = _with_ones(X) / np.sqrt(2)
        targets = [y] if n_classes == 2 else [(y == k).astype(int) for k in range(n_classes)]
        columns = [
            self._one(rows, 2 * t - 1, epsilon / len(targets), delta / len(targets), rng)
            for t in targets
        ]
        return Fitted(np.column_stack(columns) / np.sqrt(2), 1.0)

    def _one(self, rows, signs, epsilon, delta, rng):
        n, d = rows.shape
        share = self.share
        if share is None:
            share = max(min(0.88671 + 0.0186607 / epsilon**0.372906, 0.99), 1.001 - 1 / epsilon)
        whole = 0.99 * epsilon
        if whole * (1 - share) >= 1:
            return np.zeros(d)
        penalty = 0.25 / (whole * (1 - share))
        tolerance = 1 / n**2
        first = rng.normal(size=d) * (1 + np.sqrt(2 * np.log(1 / (0.99 * delta)))) / (whole * share)
        second = (1 + np.sqrt(2 * np.log(1 / (0.01 * delta)))) / (0.01 * epsilon)

        def objective(weights):
            margins = signs * (rows @ weights)
            slopes = -signs / (1 + np.exp(np.clip(margins, -700, 700)))
            value = np.logaddexp(0, -margins).mean()
            linear = penalty * weights + first
            return value + weights @ (linear + first) / (2 * n), (rows.T @ slopes + linear) / n

        options = {"gtol": tolerance / np.sqrt(d), "ftol": 0.0, "maxiter": 2000, "maxfun": 4000}
        found = minimize(objective, np.zeros(d), jac=True, method="L-BFGS-B", options=options)
        return found.x + rng.normal(size=d) * n * tolerance / penalty * second


def peers(n_classes: int, n_features: int, large: bool) -> Iterator[tuple[str, str, Any]]:
    """Yield name, setting and peer; moments of very many columns are left out."""
    rates = (0.5, 2.0, 8.0, 32.0) if n_classes else (0.5, 2.0, 8.0)
    clips = (0.3, 1.0) if n_classes else (0.1, 0.3, 1.0)
    if large:
        rates, clips = (2.0, 8.0, 32.0), (0.5,)
    for rate in rates:
        for clip in clips:
            yield DPSGD.name, f"rate={rate} clip={clip}", DPSGD(rate, clip)
    if n_features <= 1000:
        yield AdaSSP.name, "", AdaSSP()
    if n_classes:
        for share in (None,) if large else (None, 0.9, 0.95, 0.98):
            yield AMP.name, f"share={share or 'rule'}", AMP(share)
        return
    for clip in (0.05, 0.1, 0.3, 1.0):
        for rounds in (5, 20, 100):
            yield BoostedAdaSSP.name, f"clip={clip} rounds={rounds}", BoostedAdaSSP(clip, rounds)


def _residuals(n_classes: int) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    if n_classes == 0:
        return lambda scores, y: scores - y[:, None]
    if n_classes == 2:
        return lambda scores, y: 1 / (1 + np.exp(-np.clip(scores, -50, 50))) - y[:, None]
    codes = np.eye(n_classes)

    def softmax(scores, y):
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True) - codes[y]

    return softmax


def _codes(y, n_classes):
    if n_classes == 0:
        return y[:, None], 1.0
    if n_classes == 2:
        return (2.0 * y - 1)[:, None], 1.0
    return np.eye(n_classes)[y] - 1 / n_classes, np.sqrt(1 - 1 / n_classes)


def _with_ones(X: Any) -> Any:
    ones = np.ones((X.shape[0], 1))
    return sparse.hstack([X, ones]).tocsr() if sparse.issparse(X) else np.hstack([X, ones])
