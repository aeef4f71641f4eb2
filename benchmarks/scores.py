"""How good a model is on test rows, and means with standard errors over splits."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import balanced_accuracy_score, recall_score, roc_auc_score

from benchmarks.data import Split


@dataclass(frozen=True)
class Scores:
    """Scores of one fitted model on the test rows of one split."""

    accuracy: float
    balanced_accuracy: float
    auc: float
    recall: tuple[float, ...]


def scores(model: Any, split: Split) -> Scores:
    """Return accuracy, balanced accuracy, AUC (macro one-vs-rest) and the recall of each class."""
    predicted = model.predict(split.test)
    recall = recall_score(split.y_test, predicted, average=None, zero_division=0)
    return Scores(
        accuracy=float(np.mean(predicted == split.y_test)),
        balanced_accuracy=float(balanced_accuracy_score(split.y_test, predicted)),
        auc=_auc(model, split),
        recall=tuple(float(share) for share in recall),
    )


def _auc(model: Any, split: Split) -> float:
    if split.n_classes == 2 and hasattr(model, "decision_function"):
        # Large scores tie as probabilities.
        return float(roc_auc_score(split.y_test, model.decision_function(split.test)))
    shares = model.predict_proba(split.test)
    if split.n_classes == 2:
        return float(roc_auc_score(split.y_test, shares[:, 1]))
    each = [roc_auc_score(split.y_test == k, shares[:, k]) for k in split.classes]
    return float(np.mean(each))


@dataclass(frozen=True)
class Mean:
    """A mean over independent repetitions and its standard error (0 for a single one)."""

    value: float
    error: float

    @classmethod
    def of(cls, values: Any) -> "Mean":
        values = np.asarray(values, dtype=float)
        spread = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else 0.0
        return cls(float(values.mean()), float(spread))

    def per_cent(self) -> str:
        return f"{100 * self.value:.1f} ± {100 * self.error:.1f}"
