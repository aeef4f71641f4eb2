"""What the estimator would do with its defaults, up to the release: for measuring alone.

A minimiser without noise is not private, and sums that share their noise are not releases.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.data import Split
from skdp.linear_model import PrivateElasticNetClassifier
from skdp.mechanisms import Mechanism
from skdp.objectives import Logistic, Multinomial
from skdp.records import InMemoryRecords
from skdp.stability.output_perturbation import OutputPerturbationPlan


@dataclass(frozen=True)
class PlannedFit:
    """The plan for one split, budget and penalty (or "auto")."""

    split: Split
    epsilon: float = 1.0
    choice: float | str = "auto"

    @cached_property
    def _model(self) -> PrivateElasticNetClassifier:
        return PrivateElasticNetClassifier(
            epsilon=self.epsilon, alpha=self.choice, row_norm=1.0, classes=self.split.classes
        )

    @cached_property
    def _domain(self):
        return self._model._domain(self.split.train.shape, 1.0)

    @cached_property
    def plan(self) -> OutputPerturbationPlan:
        """Objective, tolerance and mechanism, from public facts."""
        n_classes = self.split.n_classes
        loss = Logistic() if n_classes == 2 else Multinomial(n_outputs=n_classes)
        return self._model._plan(loss, self._domain)

    @property
    def mechanism(self) -> Mechanism:
        """The noise that the estimator would add."""
        return self.plan.mechanism

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the coefficients, the constant column's included."""
        return self.plan.problem.objective.loss.n_outputs, self._domain.n_columns

    @property
    def alpha(self) -> float:
        """Strength of the penalty, chosen or given."""
        return self.plan.problem.objective.penalty.alpha

    def without_noise(self) -> LogisticRegression:
        """Solve, and return the minimiser as a fitted scikit-learn model."""
        split = self.split
        targets = 2.0 * split.y_train - 1 if split.n_classes == 2 else split.y_train
        records = InMemoryRecords(split.train, targets, None, self._domain.intercept_scaling)
        return self.as_model(self.plan.minimiser(records))

    def as_model(self, coef: np.ndarray) -> LogisticRegression:
        """Return coefficients, the intercept's last, as a fitted scikit-learn model."""
        model = LogisticRegression()
        model.classes_ = np.arange(self.split.n_classes)
        n_features = self.split.train.shape[1]
        model.coef_ = coef[:, :n_features]
        model.intercept_ = coef[:, n_features:].sum(axis=1) * (self._domain.intercept_scaling or 0)
        return model
