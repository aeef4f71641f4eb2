"""Logistic regression, of two classes and of several."""

from typing import Any

from sklearn.linear_model import LogisticRegression

from skdp.objectives import Logistic, Multinomial
from skdp.stability.reading import (
    Facts,
    InverseOfSum,
    ModelReading,
    Places,
    Signs,
    constant_column,
    declared_class_weight,
    number_of,
    penalised_share,
    refuse,
)
from skdp.stability.records import ProvedBound


def _l1_share(model: Any) -> float:
    """Read `penalty` (before scikit-learn 1.10) and `l1_ratio`."""
    penalty = getattr(model, "penalty", "deprecated")
    if penalty == "l2":
        return 0.0
    if penalty in ("l1", None):
        refuse(
            model,
            "penalty",
            "without an L2 part one record can move the minimiser by any amount. Leave penalty at "
            "its default, with l1_ratio below 1.",
        )
    return penalised_share(model, 0.0 if model.l1_ratio is None else model.l1_ratio)


def _require_classes(model: Any, n_classes: int) -> None:
    if model.solver == "liblinear" and n_classes > 2:
        refuse(model, "solver", "it handles two classes only. Set solver='lbfgs'.")
    multi_class = getattr(model, "multi_class", "auto")
    fitting = ("auto", "deprecated", "multinomial" if n_classes > 2 else "ovr")
    if multi_class not in fitting:
        refuse(
            model, "multi_class", "another objective than the one read. Leave it at its default."
        )


def read_logistic_regression(model: Any, facts: Facts) -> ModelReading:
    """``C sum logistic + (1 - l1_ratio)/2 ||w||^2 + l1_ratio ||w||_1``."""
    n_classes = facts.n_classes or 2
    if number_of(model, "C") == float("inf"):
        refuse(model, "C", "no penalty, hence no finite sensitivity. Set a finite C.")
    _require_classes(model, n_classes)
    liblinear = model.solver == "liblinear"
    return ModelReading(
        loss=Logistic() if n_classes == 2 else Multinomial(n_classes),
        strength=InverseOfSum(number_of(model, "C")),
        labels=Signs() if n_classes == 2 else Places(),
        l1_ratio=_l1_share(model),
        constant=constant_column(
            model, number_of(model, "intercept_scaling") if liblinear else 1.0
        ),
        class_weight=declared_class_weight(model),
        intercept_penalised=liblinear,
    )


RECORDS = (
    ProvedBound(
        model=LogisticRegression,
        read=read_logistic_regression,
        objective="C sum logistic or softmax loss + L2 or elastic-net penalty",
        bound="C D; D = 2 W kappa sigmoid(R kappa) for two classes, 2 sqrt(2) W kappa for more",
        source="Chaudhuri, Monteleoni and Sarwate 2011, Corollary 8; softmax: the gradient of one "
        "record is (p - e_y) x, of norm at most sqrt(2) kappa, all classes together",
        solver_parameters=("solver", "tol", "max_iter"),
    ),
)
