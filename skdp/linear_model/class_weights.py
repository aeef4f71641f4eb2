"""Declared weights of classes."""

import numpy as np

from skdp._validation import non_negative, positive


def declared_class_weights(class_weight, classes):
    """Return the weight of each class, 1 where none is declared; None for no weights at all."""
    if class_weight is None:
        return None
    if class_weight == "balanced":
        raise ValueError(
            "class_weight='balanced' computes weights from the class counts, so one record "
            "changes the weight of all others. Declare a dict of public weights instead."
        )
    labels = classes.tolist()
    if not set(class_weight) <= set(labels):
        raise ValueError("class_weight names a label outside of the classes.")
    weights = [class_weight.get(label, 1.0) for label in labels]
    non_negative(**{f"class_weight[{k!r}]": w for k, w in zip(labels, weights, strict=True)})
    positive(largest_class_weight=max(weights))
    return np.array(weights, dtype=np.float64)
