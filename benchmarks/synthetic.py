"""Synthetic rows for timing: every row has norm at most 1, labels come from a logistic model."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

N_SAMPLES = 50_000
N_DENSE = 100
N_SPARSE = 100_000
PER_ROW = 50


@dataclass(frozen=True)
class Table:
    """A name, rows and labels 0 and 1."""

    name: str
    X: Any
    y: np.ndarray

    @property
    def n_bytes(self) -> int:
        """Size of the rows in memory."""
        parts = (
            (self.X.data, self.X.indices, self.X.indptr) if sparse.issparse(self.X) else [self.X]
        )
        return sum(part.nbytes for part in parts)


def dense(dtype: Any = np.float64, *, n_samples: int = N_SAMPLES, seed: int = 0) -> Table:
    """Correlated columns of falling size, as after an encoding of a table."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, N_DENSE)) + rng.normal(size=(n_samples, 1))
    X *= np.linspace(1, 0.2, N_DENSE)
    X /= np.maximum(np.linalg.norm(X, axis=1), 1e-12)[:, None]
    y = _labels(rng, X @ rng.normal(size=N_DENSE))
    return Table(f"dense {np.dtype(dtype).name}", X.astype(dtype), y)


def text(dtype: Any = np.float64, *, n_samples: int = N_SAMPLES) -> Table:
    """CSR rows of 50 words out of 100,000, popular ones more often (Zipf's law)."""
    rng = np.random.default_rng(0)
    popularity = np.cumsum(1 / np.arange(2, N_SPARSE + 2))
    draws = rng.random((n_samples, PER_ROW)) * popularity[-1]
    words = np.sort(np.searchsorted(popularity, draws).astype(np.int32), axis=1)
    starts = np.arange(0, words.size + 1, PER_ROW, dtype=np.int32)
    X = sparse.csr_matrix((np.ones(words.size), words.ravel(), starts), shape=(n_samples, N_SPARSE))
    X.sum_duplicates()
    X.data[:] = 1.0
    X = sparse.csr_matrix(X.multiply(1 / np.sqrt(X.sum(axis=1))))
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    y = _labels(rng, X @ rng.normal(size=N_SPARSE))
    return Table(f"CSR {np.dtype(dtype).name}", X.astype(dtype), y)


def long_tail(n_samples: int, n_features: int, *, per_row: int = PER_ROW, seed: int = 0) -> Table:
    """CSR rows whose columns have a Pareto law of index 0.7: a few in most rows, most in few."""
    rng = np.random.default_rng(seed)
    shape = (n_samples, per_row)
    columns = (rng.pareto(0.7, shape) * max(1, n_features // 1000)).astype(np.int64) % n_features
    return _random_rows(rng, columns, n_features)


def even(n_samples: int, n_features: int, *, per_row: int = PER_ROW) -> Table:
    """CSR rows whose columns are all equally frequent."""
    rng = np.random.default_rng(0)
    return _random_rows(rng, rng.integers(n_features, size=(n_samples, per_row)), n_features)


def _random_rows(rng: np.random.Generator, columns: np.ndarray, n_features: int) -> Table:
    """Rows of normal values and of mean square norm 1; the last of equal columns counts."""
    columns = np.sort(columns.astype(np.int32), axis=1)
    kept = np.diff(columns, axis=1, append=n_features) > 0
    starts = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int32)
    values = rng.normal(size=starts[-1]) / np.sqrt(columns.shape[1])
    X = sparse.csr_matrix((values, columns[kept], starts), shape=(len(columns), n_features))
    y = _labels(rng, X @ rng.normal(size=n_features))
    return Table(f"CSR, {n_features:,} columns", X, y)


def _labels(rng: np.random.Generator, scores: np.ndarray) -> np.ndarray:
    chance = 1 / (1 + np.exp(-4 * scores / scores.std()))
    return (rng.random(len(scores)) < chance).astype(int)
