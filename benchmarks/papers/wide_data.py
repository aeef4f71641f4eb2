"""Wide, sparse data sets in encodings that use public facts alone.

Words are hashed or come with a vocabulary that was fixed with the data set; no document frequency
is counted, and rows are scaled one by one, so a row depends on no other. The folder with the files
is the one that the environment variable SKDP_DATA names; without it there are only the synthetic
sets.
"""

import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import normalize

from benchmarks.data import Problem

HASHED_COLUMNS = 2**17
N_ROWS, N_COLUMNS, PER_ROW = 50_000, 100_000, 40
N_INFORMATIVE, FIRST_INFORMATIVE, WEIGHT = 20, 10, 3.0
LONG_ROW, PRESENT, LONG_ROW_WEIGHT = 300, 0.3, 2.0


def sms_spam(folder: Path) -> Problem:
    """5,574 text messages, words hashed, unit rows."""
    frame = pd.read_csv(
        folder / "sms_spam.tsv.gz", sep="\t", header=None, names=["label", "text"], quoting=3
    )
    return _problem("sms_spam", _hashed(frame["text"]), frame["label"] == "spam")


def movie_reviews(folder: Path) -> Problem:
    """2,000 film reviews, words hashed, unit rows."""
    frame = pd.read_parquet(folder / "movie_reviews.parquet")
    return _problem("movie_reviews", _hashed(frame["text"]), frame["label"] == "pos")


def newsgroups(name: str, folder: Path) -> Problem:
    """About 2,000 postings of two newsgroups, words present or absent, unit rows."""
    X, y = _stored(folder / f"{name}.npz")
    return _problem(name, normalize(X), y)


def a9a(folder: Path) -> Problem:
    """48,842 people (Adult), 123 columns of 0 and 1, 14 ones a row, divided by sqrt(14)."""
    X, y = _stored(folder / "a9a.npz")
    return _problem("a9a", X / np.sqrt(14), y)


def dorothea(name: str, folder: Path) -> Problem:
    """800 molecules, 88,119 columns of 0 and 1, about 900 ones a row; as they are, or unit rows."""
    X, y = _stored(folder / "dorothea_train.npz")
    return _problem(name, X if name.endswith("0/1") else normalize(X), y)


def synthetic(name: str) -> Problem:
    """50,000 rows of 40 words out of 100,000 (Zipf's law); 20 frequent ones decide the label."""
    rng = np.random.default_rng(0)
    popularity = np.cumsum(1 / np.arange(2, N_COLUMNS + 2))
    draws = rng.random((N_ROWS, PER_ROW)) * popularity[-1]
    words = np.searchsorted(popularity, draws).ravel()
    starts = np.arange(0, words.size + 1, PER_ROW)
    X = sparse.csr_matrix((np.ones(words.size), words, starts), shape=(N_ROWS, N_COLUMNS))
    X.sum_duplicates()
    X.data[:] = 1.0
    chosen = np.arange(FIRST_INFORMATIVE, FIRST_INFORMATIVE + N_INFORMATIVE)
    y = _labels(rng, X[:, chosen] @ _alternating(WEIGHT))
    return _problem(name, X if name.endswith("0/1") else normalize(X), y)


def long_rows(name: str) -> Problem:
    """50,000 rows of 300 ones anywhere in 100,000 columns; 20 more columns decide the label."""
    rng = np.random.default_rng(1)
    others = rng.integers(N_INFORMATIVE, N_COLUMNS, size=(N_ROWS, LONG_ROW)).ravel()
    starts = np.arange(0, others.size + 1, LONG_ROW)
    X = sparse.csr_matrix((np.ones(others.size), others, starts), shape=(N_ROWS, N_COLUMNS))
    X.sum_duplicates()
    X.data[:] = 1.0
    present = rng.random((N_ROWS, N_INFORMATIVE)) < PRESENT
    rows, columns = np.nonzero(present)
    ones = np.ones(len(rows))
    X = X + sparse.csr_matrix((ones, (rows, columns)), shape=X.shape)
    y = _labels(rng, present @ _alternating(LONG_ROW_WEIGHT))
    return _problem(name, X if name.endswith("0/1") else normalize(X), y)


def _alternating(size: float) -> np.ndarray:
    return np.where(np.arange(N_INFORMATIVE) % 2, size, -size)


def _labels(rng: np.random.Generator, scores: np.ndarray) -> np.ndarray:
    """Draw labels of a logistic model, about half of them 1."""
    return rng.random(len(scores)) < 1 / (1 + np.exp(scores.mean() - scores))


def _hashed(texts: Any) -> Any:
    hashing = HashingVectorizer(
        n_features=HASHED_COLUMNS, alternate_sign=False, binary=True, norm="l2"
    )
    return hashing.transform(texts)


def _stored(path: Path) -> tuple[Any, np.ndarray]:
    """Return presence (1) or absence of each column, and whether the label is the larger one."""
    parts = np.load(path)
    X = sparse.csr_matrix(
        (np.ones(len(parts["data"])), parts["indices"], parts["indptr"]), shape=parts["shape"]
    )
    return X, parts["y"] == parts["y"].max()


def _problem(name: str, X: Any, y: Any) -> Problem:
    X = sparse.csr_matrix(X, dtype=np.float64)
    X.sort_indices()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return Problem(name, X, np.asarray(y, dtype=int), 2)


FROM_FOLDER: dict[str, Callable[[Path], Problem]] = {
    "sms_spam": sms_spam,
    "basehock": partial(newsgroups, "basehock"),
    "pcmac": partial(newsgroups, "pcmac"),
    "movie_reviews": movie_reviews,
    "a9a": a9a,
    "dorothea": partial(dorothea, "dorothea"),
    "dorothea 0/1": partial(dorothea, "dorothea 0/1"),
}
MADE: dict[str, Callable[[], Problem]] = {
    "synthetic": partial(synthetic, "synthetic"),
    "synthetic 0/1": partial(synthetic, "synthetic 0/1"),
    "long rows": partial(long_rows, "long rows"),
    "long rows 0/1": partial(long_rows, "long rows 0/1"),
}


def problems(only: str = "") -> Iterator[Problem]:
    """Yield the sets that can be read here, or those of them that `only` names, by commas."""
    folder = os.environ.get("SKDP_DATA")
    for name in only.split(",") if only else [*FROM_FOLDER, *MADE]:
        if name in MADE:
            yield MADE[name]()
        elif folder and Path(folder).is_dir():
            yield FROM_FOLDER[name](Path(folder))
        else:
            print(f"{name} is skipped: SKDP_DATA does not name its folder", file=sys.stderr)
