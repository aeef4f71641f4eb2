"""A small table with many zeros, as arrays and as frames."""

import numpy as np
import pandas as pd
import polars as pl

N, D = 60, 4
rng = np.random.default_rng(5)
X = rng.normal(size=(N, D)) * 3
X[rng.random(X.shape) < 0.5] = 0
binary = (X[:, 0] + X[:, 1] > 0).astype(int)
three = np.digitize(X[:, 1], [-1, 1])
NAMES = ["a", "b", "c", "d"]
FRAME = pd.DataFrame(X, columns=NAMES)
FRAMES = {"pandas": FRAME, "polars": pl.DataFrame(X, schema=NAMES)}
