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


def dense(dtype: Any = np.float64, *, n_samples: int = N_SAMPLES) -> Table:
    """Correlated columns of falling size, as after an encoding of a table."""
    rng = np.random.default_rng(0)
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


def _labels(rng: np.random.Generator, scores: np.ndarray) -> np.ndarray:
    chance = 1 / (1 + np.exp(-4 * scores / scores.std()))
    return (rng.random(len(scores)) < chance).astype(int)
