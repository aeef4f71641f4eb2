"""Real data sets in a privacy-respecting encoding: all bounds are published constants.

Sets that scikit-learn or skdp ship are always there. The others are read from the folder that the
environment variable SKDP_DATA names; without it they are skipped.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.model_selection import train_test_split

from skdp.datasets import load_adult
from skdp.preprocessing import PublicRangeScaler, RowNormClipper


@dataclass(frozen=True)
class Split:
    """Training and test rows, all of norm at most 1, with labels 0, 1, ..."""

    train: Any
    y_train: np.ndarray
    test: Any
    y_test: np.ndarray
    n_classes: int

    @property
    def classes(self) -> range:
        """The public labels."""
        return range(self.n_classes)


@dataclass(frozen=True)
class Problem:
    """Rows of a bounded encoding, clipped to norm 1, and labels 0, ..., n_classes - 1."""

    name: str
    X: Any
    y: np.ndarray
    n_classes: int

    def split(self, seed: int) -> Split:
        """Return 70 % of the rows for training and 30 % for testing, stratified by label."""
        train, test, y_train, y_test = train_test_split(
            self.X, self.y, test_size=0.3, stratify=self.y, random_state=seed
        )
        return Split(train, y_train, test, y_test, self.n_classes)


# Rounded outwards from the table in the data set's published description (Wolberg et al. 1995).
BREAST_CANCER_BOUNDS = [
    (6, 30), (9, 40), (40, 190), (140, 2510), (0.05, 0.17), (0, 0.35), (0, 0.45), (0, 0.21),
    (0.1, 0.31), (0.05, 0.1), (0, 3), (0, 5), (0, 22), (0, 550), (0, 0.032), (0, 0.14), (0, 0.4),
    (0, 0.055), (0, 0.08), (0, 0.03), (7, 37), (12, 50), (50, 252), (180, 4260), (0.07, 0.23),
    (0, 1.06), (0, 1.26), (0, 0.3), (0.15, 0.67), (0.05, 0.21),
]  # fmt: skip
# Rounded outwards from the table in the data set's published description (Forina et al. 1988).
WINE_BOUNDS = [
    (11, 15), (0.7, 6), (1.3, 3.3), (10, 30), (70, 165), (0.9, 4), (0.3, 5.1), (0.1, 0.7),
    (0.4, 3.6), (1.2, 13), (0.4, 1.8), (1.2, 4), (270, 1700),
]  # fmt: skip
# Percentages of words reach 100 by definition; spambase.DOCUMENTATION lists how large they come.
SPAMBASE_WORD_PERCENT = 5.0
SPAMBASE_RUN_LOG10 = (1.0, 4.0, 5.0)


def breast_cancer() -> Problem:
    """569 tumours, 30 measurements."""
    X, y = load_breast_cancer(return_X_y=True)
    low, high = np.array(BREAST_CANCER_BOUNDS, dtype=float).T
    scaled = PublicRangeScaler(bounds=(low, high), feature_range=(-1, 1)).fit_transform(X)
    return _problem("breast_cancer", scaled, y, 2)


def wine() -> Problem:
    """178 wines, 13 measurements, three growers."""
    X, y = load_wine(return_X_y=True)
    low, high = np.array(WINE_BOUNDS, dtype=float).T
    scaled = PublicRangeScaler(bounds=(low, high), feature_range=(-1, 1)).fit_transform(X)
    return _problem("wine", scaled, y, 3)


def digits() -> Problem:
    """1,797 images of 8 x 8 pixels, ten classes."""
    X, y = load_digits(return_X_y=True)
    return _problem("digits", X / 16.0, y, 10)


def adult() -> Problem:
    """48,842 people, income above 50,000 dollars or not."""
    X_train, X_test, y_train, y_test = load_adult().encoded()
    labels = np.concatenate([y_train, y_test]) == load_adult().classes[1]
    return _problem("adult", np.concatenate([X_train, X_test]), labels.astype(int), 2)


def spambase(folder: Path) -> Problem:
    """4,601 mails, 57 counts."""
    frame = pd.read_csv(folder / "spambase.csv.gz")
    X = frame.drop(columns="type").to_numpy(dtype=float)
    words = np.sqrt(np.clip(X[:, :54] / SPAMBASE_WORD_PERCENT, 0, 1))
    runs = np.clip(np.log10(1 + X[:, 54:]) / np.array(SPAMBASE_RUN_LOG10), 0, 1)
    return _problem("spambase", np.hstack([words, runs]), (frame["type"] == "spam"), 2)


def sms_spam(folder: Path) -> Problem:
    """5,574 text messages, words hashed to 4,096 columns, CSR."""
    frame = pd.read_csv(
        folder / "sms_spam.tsv.gz", sep="\t", header=None, names=["label", "text"], quoting=3
    )
    hashing = HashingVectorizer(n_features=2**12, alternate_sign=False, binary=True, norm="l2")
    return _problem("sms_spam", hashing.transform(frame["text"]), (frame["label"] == "spam"), 2)


def _problem(name: str, X: Any, y: Any, n_classes: int) -> Problem:
    clipped = RowNormClipper(row_norm=1.0).fit_transform(X)
    return Problem(name, clipped, np.asarray(y, dtype=int), n_classes)


SHIPPED = {maker.__name__: maker for maker in (breast_cancer, wine, digits, adult)}
FROM_FOLDER = {maker.__name__: maker for maker in (spambase, sms_spam)}


def problems(only: str = "") -> Iterator[Problem]:
    """Yield the sets that can be read here, or those of them that `only` names, by commas."""
    wanted = only.split(",") if only else [*SHIPPED, *FROM_FOLDER]
    folder = os.environ.get("SKDP_DATA")
    for name in wanted:
        if name in SHIPPED:
            yield SHIPPED[name]()
        elif folder and Path(folder).is_dir():
            yield FROM_FOLDER[name](Path(folder))
        else:
            print(f"{name} is skipped: SKDP_DATA does not name a folder that holds it")
