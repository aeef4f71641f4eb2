"""Images and measurements on which small networks are trained, scaled by public facts alone.

Pixels are divided by 255 and grades by 10, their largest values by definition; nothing is learned
from the rows. The folder with the files is the one that the environment variable SKDP_DATA names.
"""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from benchmarks.data import Split

LARGEST_PIXEL, LARGEST_GRADE = 255.0, 10.0


def mnist(folder: Path) -> Split:
    """60,000 and 10,000 images of 28 x 28 pixels, ten digits; the split of the data set."""
    return _images(folder / "mnist.npz")


def fashion_mnist(folder: Path) -> Split:
    """10,000 images of 28 x 28 pixels, ten kinds of clothes; the last 2,000 for testing."""
    stored = np.load(folder / "fashion_mnist_t10k.npz")
    X, y = _pixels(stored["X"]), stored["y"].astype(int)
    return Split(X[:8000], y[:8000], X[8000:], y[8000:], 10)


def cancer(folder: Path, seed: int = 0) -> Split:
    """683 tumours without missing values, 9 grades from 1 to 10; 560 to train with, as published.

    Which rows are complete is taken to be public.
    """
    frame = pd.read_csv(folder / "cancer_wisconsin_original.csv.gz").dropna()
    X = frame[[f"V{i}" for i in range(1, 10)]].to_numpy(dtype=np.float32) / LARGEST_GRADE
    y = (frame["class"] == "malignant").to_numpy(dtype=int)
    train, test, y_train, y_test = train_test_split(
        X, y, train_size=560, stratify=y, random_state=seed
    )
    return Split(train, y_train, test, y_test, 2)


def cifar10_features(folder: Path) -> Split:
    """CIFAR-10 as features of a public network: an .npz with X_train, y_train, X_test, y_test."""
    stored = np.load(folder / "cifar10_features.npz")
    X_train, X_test = (stored[name].astype(np.float32) for name in ("X_train", "X_test"))
    return Split(X_train, stored["y_train"].astype(int), X_test, stored["y_test"].astype(int), 10)


def _images(path: Path) -> Split:
    stored = np.load(path)
    return Split(
        _pixels(stored["X_train"]),
        stored["y_train"].astype(int),
        _pixels(stored["X_test"]),
        stored["y_test"].astype(int),
        10,
    )


def _pixels(X: np.ndarray) -> np.ndarray:
    return X.reshape(len(X), -1).astype(np.float32) / np.float32(LARGEST_PIXEL)


FROM_FOLDER: dict[str, Callable[[Path], Split]] = {
    maker.__name__: maker for maker in (mnist, fashion_mnist, cancer, cifar10_features)
}


def splits(only: str = "") -> Iterator[tuple[str, Split]]:
    """Yield names and sets that can be read here, or those that `only` names, by commas."""
    folder = os.environ.get("SKDP_DATA")
    for name in only.split(",") if only else FROM_FOLDER:
        if not folder or not Path(folder).is_dir():
            print(f"{name} is skipped: SKDP_DATA does not name its folder", file=sys.stderr)
            continue
        try:
            yield name, FROM_FOLDER[name](Path(folder))
        except FileNotFoundError as error:
            print(f"{name} is skipped: {error.filename} is not there", file=sys.stderr)
