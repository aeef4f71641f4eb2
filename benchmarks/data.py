"""Real data sets in a privacy-respecting encoding: every bound is a published constant, none is computed.

Sets that scikit-learn or skdp ship are always there. The others are read from the folder that the
environment variable SKDP_DATA names; without it they are skipped.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.feature_extraction.text import HashingVectorizer

from skdp.datasets import load_adult
from skdp.preprocessing import PublicRangeScaler


@dataclass(frozen=True)
class Problem:
    """Rows of a bounded encoding, labels, the public classes."""

    name: str
    X: object
    y: np.ndarray
    classes: tuple


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
    scaled = PublicRangeScaler(bounds=(low, high), feature_range=(0, 1)).fit_transform(X)
    return Problem("breast_cancer", scaled, y, (0, 1))


def wine() -> Problem:
    """178 wines, 13 measurements, three growers."""
    X, y = load_wine(return_X_y=True)
    low, high = np.array(WINE_BOUNDS, dtype=float).T
    scaled = PublicRangeScaler(bounds=(low, high), feature_range=(-1, 1)).fit_transform(X)
    return Problem("wine", scaled, y, (0, 1, 2))


def digits() -> Problem:
    """1,797 images of 8 x 8 pixels, ten classes."""
    X, y = load_digits(return_X_y=True)
    return Problem("digits", X / 16.0, y, tuple(range(10)))


def adult() -> Problem:
    """48,842 people, income above 50,000 dollars or not."""
    data = load_adult()
    frame = pd.concat([data.X_train, data.X_test])
    labels = np.concatenate([data.y_train, data.y_test])
    return Problem("adult", data.encode(frame), labels, ("<=50K", ">50K"))


def _folder() -> Path | None:
    folder = os.environ.get("SKDP_DATA")
    return Path(folder) if folder and Path(folder).is_dir() else None


def spambase(folder: Path) -> Problem:
    """4,601 mails, 57 counts."""
    frame = pd.read_csv(folder / "spambase.csv.gz")
    X = frame.drop(columns="type").to_numpy(dtype=float)
    words = np.sqrt(np.clip(X[:, :54] / SPAMBASE_WORD_PERCENT, 0, 1))
    runs = np.clip(np.log10(1 + X[:, 54:]) / np.array(SPAMBASE_RUN_LOG10), 0, 1)
    return Problem("spambase", np.hstack([words, runs]), (frame["type"] == "spam").to_numpy(int), (0, 1))


def sms_spam(folder: Path) -> Problem:
    """5,574 text messages, words hashed to 4,096 columns; every row has norm 1."""
    frame = pd.read_csv(
        folder / "sms_spam.tsv.gz", sep="\t", header=None, names=["label", "text"], quoting=3
    )
    hashing = HashingVectorizer(n_features=2**12, alternate_sign=False, binary=True, norm="l2")
    return Problem("sms_spam", hashing.transform(frame["text"]), (frame["label"] == "spam").to_numpy(int), (0, 1))


def problems() -> list[Problem]:
    """All sets that can be read here."""
    found = [breast_cancer(), wine(), digits(), adult()]
    folder = _folder()
    if folder is None:
        print("SKDP_DATA names no folder: spambase and sms_spam are skipped")
        return found
    return [*found, spambase(folder), sms_spam(folder)]
