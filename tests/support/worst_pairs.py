"""Neighbouring data sets that nearly attain the sensitivity, for audits."""

import numpy as np

ROWS = 10
#: Strong penalty, at which every loss comes near its bound.
ALPHA = 8.0


def flipped_record(case, direction=(1.0,)):
    """Row 0 is `direction` and all others are empty; one label of row 0 against the other.

    For a softmax the row is turned round instead, which moves it further than another label.
    """
    X = np.zeros((ROWS, len(direction)))
    X[0] = direction
    y = np.full(ROWS, case.labels[-1])
    X_other, y_other = X.copy(), y.copy()
    if case.loss.n_outputs > 1:
        X_other[0] = -X[0]
        y[1:] = y_other[1:] = np.resize(case.labels, ROWS - 1)
    else:
        y_other[0] = case.labels[0]
    return (X, y), (X_other, y_other)
