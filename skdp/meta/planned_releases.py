"""From data, or a fitted model, to what the wrapper is about to release: nothing is spent here."""

import copy

import numpy as np
from sklearn.base import is_classifier
from sklearn.frozen import FrozenEstimator

from skdp._admission import admit_labels, admit_training, check_is_fitted
from skdp.exceptions import NotFittedError
from skdp.meta.declared_releases import (
    Declaration,
    FrozenRelease,
    OwnFitRelease,
    registered_vector,
    rehearse,
    require_linear_twin,
    require_penalised_intercept,
)
from skdp.meta.model_checks import (
    refuse_chatter,
    refuse_inexact_frozen,
    refuse_several_labels,
)
from skdp.meta.parameter_vectors import vector_of
from skdp.meta.releases import MinimiserRelease
from skdp.stability.declared import DeclaredFit
from skdp.stability.domain import Domain
from skdp.stability.reading import Facts
from skdp.stability.registry import read_model, record_for
from skdp.stability.wrapped import WrappedPlan


class PlannedReleaseMixin:
    """Admission of the data, and the choice of a `Release` by what is wrapped and declared."""

    def _release(self, X, y, groups):
        """Plan the release; refuse what cannot be released."""
        if X is None or self.stability != "auto":
            self._refuse_groups(groups)
        if X is None:
            return self._frozen()
        if self.stability != "auto":
            return self._own_fit(*self._admit(X, y))
        X, classes, targets = self._admit(X, y)
        return self._minimiser(X, classes, targets, self._slots(groups, X.shape[0]))

    def _refuse_groups(self, groups):
        if groups is not None or self.max_rows_per_group is not None or self.n_groups is not None:
            raise ValueError(
                "Groups are protected where a registered model is fitted here: stability='auto' "
                "and fit(X, y, groups=...). For a fitted model, or one of declared stability, "
                "declare how far a whole group moves it, and leave max_rows_per_group, n_groups "
                "and groups out."
            )

    def _admit(self, X, y):
        X, y = admit_training(self, X, y, y_numeric=not is_classifier(self._model))
        declared = self.n_samples
        if declared is not None and self._number("n_samples") != X.shape[0]:
            raise ValueError(
                f"n_samples={declared!r}, but X has {X.shape[0]} rows. Leave it None when X is "
                "given."
            )
        if is_classifier(self._model):
            return X, *admit_labels(y, None)
        if self.y_bound is not None:
            y_bound = self._number("y_bound")
            y = np.clip(y, -y_bound, y_bound)
        return X, None, y

    def _minimiser(self, X, classes, targets, slots):
        """Plan the certified minimiser of a registered model's objective."""
        model = self._model
        record = record_for(model)
        reading = record.reading(model, self._facts(None if classes is None else len(classes)))
        if slots is not None and self.n_samples is not None:
            raise ValueError(
                "n_samples counts the rows that a frozen model was fitted to; of groups, n_groups "
                "is public. Leave n_samples None."
            )
        n_rows, per_unit = (X.shape[0], 1) if slots is None else (slots.n_slots, slots.per_group)
        domain = self._domain(reading, (n_rows, X.shape[1]), classes, per_unit)
        if not self.certify:
            record.refuse_own_solver(model)
        plan = WrappedPlan.for_reading(reading, domain)
        return MinimiserRelease(model, classes, plan, domain.row_norm, X, targets, slots)

    def _facts(self, n_classes):
        y_bound = None if self.y_bound is None else self._number("y_bound")
        return Facts(n_classes=n_classes, y_bound=y_bound)

    def _domain(self, reading, shape, classes, rows_per_unit=1):
        return Domain(
            n_samples=int(shape[0]),
            n_features=int(shape[1]),
            row_norm=self._number("row_norm"),
            intercept_scaling=reading.constant,
            max_weight=reading.largest_weight(classes),
            rows_per_unit=rows_per_unit,
        )

    def _frozen(self):
        """Take a fitted model at its declared stability; no data is read."""
        model, declared = self._model, self._declared_names()
        try:
            check_is_fitted(model)
        except (NotFittedError, TypeError):
            raise ValueError(
                "fit() without data releases a model that is fitted already, and the wrapped "
                f"{type(model).__name__} is not: call fit(X, y)."
            ) from None
        refuse_several_labels(model)
        self._take_columns(model)
        classes = np.asarray(model.classes_) if is_classifier(model) else None
        require_linear_twin(model, classes)
        if self.stability == "auto":
            return self._frozen_registered(model, classes)
        if self.y_bound is not None and not is_classifier(model):
            raise ValueError(
                "y_bound clips the labels that fit is given, and a frozen model of declared "
                "stability is given none: leave it None, and let the declaration cover the labels."
            )
        vector = vector_of(model, declared, self.stability.intercept_scale)
        declaration = Declaration.of_stability(self.stability, self._declared_fit(vector))
        return FrozenRelease(model, classes, declaration, vector)

    def _frozen_registered(self, model, classes):
        reading = read_model(model, self._facts(None if classes is None else len(classes)))
        require_penalised_intercept(model, reading)
        if self.n_samples is None:
            raise ValueError(
                "A frozen model needs n_samples, the public number of rows that it was fitted to: "
                "the bound depends on it."
            )
        refuse_inexact_frozen(model)
        vector = registered_vector(model, reading)
        bounded = reading.labels.n_problems * reading.loss.n_outputs
        if vector.linear_scores != bounded:
            raise ValueError(
                f"The model has {vector.linear_scores} rows of coefficients where the bound is for "
                f"{bounded}: it was fitted to several targets at once. Wrap one model for each."
            )
        shape = (self._number("n_samples"), self.n_features_in_)
        declaration = Declaration.of_registered(reading, self._domain(reading, shape, classes))
        return FrozenRelease(model, classes, declaration, vector)

    def _own_fit(self, X, classes, targets):
        """Plan to fit the model by its own algorithm, at its declared stability."""
        if isinstance(self.estimator, FrozenEstimator):
            raise ValueError(
                "A frozen model with declared stability is not fitted again: call fit() without "
                "data, or set stability='auto' to solve its objective on the data."
            )
        model = self._model
        require_linear_twin(model, classes)
        refuse_chatter(model)
        rehearsed = rehearse(model, X.shape[1], classes)
        vector = vector_of(rehearsed, self._declared_names(), self.stability.intercept_scale)
        fit = self._declared_fit(vector, n_samples=X.shape[0])
        declaration = Declaration.of_stability(self.stability, fit)
        labels = targets if classes is None else classes[targets]
        return OwnFitRelease(
            model, classes, declaration, vector, rehearsed, self._number("row_norm"), X, labels
        )

    def _declared_names(self):
        return None if self.parameters is None else tuple(self.parameters)

    def _declared_fit(self, vector, n_samples=None):
        if n_samples is None and self.n_samples is not None:
            n_samples = int(self._number("n_samples"))
        return DeclaredFit(
            n_samples, self._number("row_norm"), vector.linear_scores, vector.fits_intercept
        )

    def _take_columns(self, model):
        """Take number and names of the columns from a fitted model."""
        for name in ("n_features_in_", "feature_names_in_"):
            vars(self).pop(name, None)
            if hasattr(model, name):
                setattr(self, name, copy.copy(getattr(model, name)))
