"""Squared residuals: ridge regression and classification, and the elastic net."""

from typing import Any

from sklearn.linear_model import ElasticNet, Ridge, RidgeClassifier

from skdp.objectives import Squared
from skdp.stability.reading import (
    BesideMean,
    BesideSum,
    Facts,
    ModelReading,
    Numbers,
    constant_column,
    declared_class_weight,
    label_bound,
    labels_for,
    number_of,
    penalised_share,
    refuse_positive,
)
from skdp.stability.records import ProvedBound


def read_ridge(model: Any, facts: Facts) -> ModelReading:
    """``sum (m - y)^2 + alpha ||w||^2``, half of it in mean-loss form with alpha / n."""
    refuse_positive(model)
    return ModelReading(
        loss=Squared(label_bound(model, facts)),
        strength=BesideSum(number_of(model, "alpha")),
        labels=Numbers(),
        constant=constant_column(model),
    )


def read_ridge_classifier(model: Any, facts: Facts) -> ModelReading:
    """Ridge regression on -1 and +1; one score a class beyond two."""
    refuse_positive(model)
    return ModelReading(
        loss=Squared(1.0),
        strength=BesideSum(number_of(model, "alpha")),
        labels=labels_for(facts.n_classes or 2, own_weight_only=False),
        constant=constant_column(model),
        class_weight=declared_class_weight(model),
    )


def read_elastic_net(model: Any, facts: Facts) -> ModelReading:
    """``mean (m - y)^2 / 2 + alpha (l1_ratio ||w||_1 + (1 - l1_ratio)/2 ||w||^2)``."""
    refuse_positive(model)
    return ModelReading(
        loss=Squared(label_bound(model, facts)),
        strength=BesideMean(number_of(model, "alpha")),
        labels=Numbers(),
        l1_ratio=penalised_share(model, model.l1_ratio),
        constant=constant_column(model),
    )


_SOURCE = "Bousquet and Elisseeff 2002, Theorem 22, with the slope on the ball of the minimiser"
_DIAMETER = "D = 2 W kappa (kappa R + y_bound), R = min(y_bound sqrt(W / lambda) / 2, ...)"

RECORDS = (
    ProvedBound(
        model=Ridge,
        read=read_ridge,
        objective="sum of squared residuals + alpha times the squared L2 norm",
        bound=f"D / alpha; {_DIAMETER}",
        source=_SOURCE,
        solver_parameters=("solver", "tol", "max_iter"),
    ),
    ProvedBound(
        model=RidgeClassifier,
        read=read_ridge_classifier,
        objective="ridge regression on labels -1 and +1, one class against the rest",
        bound=f"D / alpha, sqrt(K) times for K > 2 classes; {_DIAMETER}, y_bound = 1",
        source=_SOURCE,
        solver_parameters=("solver", "tol", "max_iter"),
    ),
    ProvedBound(
        model=ElasticNet,
        read=read_elastic_net,
        objective="half the mean squared residual + elastic-net penalty",
        bound=f"D / (n alpha (1 - l1_ratio)); {_DIAMETER}",
        source=_SOURCE + "; Wibisono, Rosasco and Poggio 2009 for the elastic net",
        solver_parameters=("tol", "max_iter", "selection"),
    ),
)
