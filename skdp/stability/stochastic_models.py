"""scikit-learn's SGD models, read as the objective that they descend."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from sklearn.linear_model import SGDClassifier, SGDRegressor

from skdp.objectives import Huber, Logistic, Squared, SquaredHinge
from skdp.objectives.further_losses import ModifiedHuber
from skdp.objectives.losses import ConvexLoss
from skdp.objectives.piecewise_linear import Hinge
from skdp.stability.reading import (
    BesideMean,
    Facts,
    ModelReading,
    Numbers,
    constant_column,
    declared_class_weight,
    label_bound,
    labels_for,
    number_of,
    penalised_share,
    refuse,
    refuse_early_stopping,
)
from skdp.stability.records import ProvedBound
from skdp.stability.support_vector_models import insensitive, squared_insensitive

LossOf = Callable[[Any, Facts], ConvexLoss]

REGRESSION: Mapping[str, LossOf] = MappingProxyType(
    {
        "squared_error": lambda model, facts: Squared(label_bound(model, facts)),
        "huber": lambda model, facts: Huber(number_of(model, "epsilon")),
        "epsilon_insensitive": insensitive,
        "squared_epsilon_insensitive": squared_insensitive,
    }
)
CLASSIFICATION: Mapping[str, LossOf] = MappingProxyType(
    {
        "hinge": lambda model, facts: Hinge(),
        "log_loss": lambda model, facts: Logistic(),
        "squared_hinge": lambda model, facts: SquaredHinge(),
        "modified_huber": lambda model, facts: ModifiedHuber(),
        **REGRESSION,
    }
)


def _l1_share(model: Any) -> float:
    if model.penalty == "l2":
        return 0.0
    if model.penalty != "elasticnet":
        refuse(
            model,
            "penalty",
            "without an L2 part one record can move the minimiser by any amount. Set penalty='l2' "
            "or 'elasticnet'.",
        )
    return penalised_share(model, model.l1_ratio)


def _loss(model: Any, facts: Facts, losses: Mapping[str, LossOf]) -> ConvexLoss:
    if model.loss not in losses:
        refuse(
            model,
            "loss",
            "no bound is known for it: its penalised minimum is 0, and what SGD reaches instead "
            f"depends on the order of the rows. Set one of {sorted(losses)}.",
        )
    return losses[model.loss](model, facts)


def _require_descent(model: Any) -> None:
    refuse_early_stopping(model)
    if model.learning_rate in ("pa1", "pa2"):
        refuse(
            model,
            "learning_rate",
            "passive-aggressive steps descend no objective. Set learning_rate='optimal'.",
        )


def read_sgd_classifier(model: Any, facts: Facts) -> ModelReading:
    """``mean loss + alpha penalty``, one problem a class beyond two."""
    _require_descent(model)
    return ModelReading(
        loss=_loss(model, Facts(facts.n_classes, y_bound=1.0), CLASSIFICATION),
        strength=BesideMean(number_of(model, "alpha")),
        labels=labels_for(facts.n_classes or 2),
        l1_ratio=_l1_share(model),
        constant=constant_column(model),
        class_weight=declared_class_weight(model),
    )


def read_sgd_regressor(model: Any, facts: Facts) -> ModelReading:
    """``mean loss + alpha penalty``."""
    _require_descent(model)
    return ModelReading(
        loss=_loss(model, facts, REGRESSION),
        strength=BesideMean(number_of(model, "alpha")),
        labels=Numbers(),
        l1_ratio=_l1_share(model),
        constant=constant_column(model),
    )


_SOURCE = (
    "Bousquet and Elisseeff 2002, Theorem 22, for the minimiser; what SGD itself reaches has a "
    "worst-case bound for fixed passes over permutations only (Wu et al. 2017)"
)
_SOLVER = ("max_iter", "tol", "shuffle", "learning_rate", "average", "random_state")

RECORDS = (
    ProvedBound(
        model=SGDClassifier,
        read=read_sgd_classifier,
        objective="mean loss + alpha times the L2 or elastic-net penalty, one class against the "
        "rest",
        bound="D / (n alpha (1 - l1_ratio)), sqrt(K) times for K > 2 classes; D by the loss",
        source=_SOURCE,
        solver_parameters=_SOLVER,
    ),
    ProvedBound(
        model=SGDRegressor,
        read=read_sgd_regressor,
        objective="mean loss + alpha times the L2 or elastic-net penalty",
        bound="D / (n alpha (1 - l1_ratio)); D by the loss",
        source=_SOURCE,
        solver_parameters=_SOLVER,
    ),
)
