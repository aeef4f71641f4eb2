"""The registry: which models have a proved worst-case stability, by exact class."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from skdp.exceptions import UnknownStabilityError
from skdp.stability import (
    logistic_models,
    refused_models,
    ridge_models,
    stochastic_models,
    support_vector_models,
)
from skdp.stability.reading import Facts, ModelReading
from skdp.stability.records import StabilityRecord

_RECORDS: tuple[StabilityRecord, ...] = (
    *logistic_models.RECORDS,
    *support_vector_models.RECORDS,
    *ridge_models.RECORDS,
    *stochastic_models.RECORDS,
    *refused_models.RECORDS,
)
_BY_CLASS = {record.model: record for record in _RECORDS}
_BY_NAME = MappingProxyType({record.name: record for record in _RECORDS})


def stability_registry() -> Mapping[str, StabilityRecord]:
    """Return what is known of each class of models, by name.

    Returns
    -------
    mapping of str to StabilityRecord
        `ProvedBound` (``objective``, ``bound``, ``source``) or `RefusedModel` (``reason``,
        ``instead``); ``proved`` tells them apart. Techniques without a class are named too.

    Examples
    --------
    >>> from skdp.stability import stability_registry
    >>> [name for name, record in stability_registry().items() if record.proved][:3]
    ['LogisticRegression', 'LinearSVC', 'LinearSVR']
    >>> stability_registry()["Perceptron"].instead.split(",")[0]
    'Use PrivateElasticNetClassifier'
    """
    return _BY_NAME


def record_for(model: object) -> StabilityRecord:
    """Return the record of a model's exact class, or refuse: a subclass inherits no bound."""
    cls = type(model)
    record = _BY_CLASS.get(cls) or _refused(cls)
    if record is None:
        raise UnknownStabilityError(_unknown(cls))
    return record


def _refused(cls: type) -> StabilityRecord | None:
    """Refused classes are known by name, so that none of them need be imported."""
    record = _BY_NAME.get(cls.__name__) if cls.__module__.startswith("sklearn.") else None
    return None if record is None or record.proved else record


def read_model(model: Any, facts: Facts) -> ModelReading:
    """Return a model's objective, or raise UnknownStabilityError with the reason."""
    return record_for(model).reading(model, facts)


def _unknown(cls: type) -> str:
    parents = [parent.__name__ for parent in cls.__mro__[1:] if parent in _BY_CLASS]
    inherited = (
        f" It is a subclass of {parents[0]}, but a bound proved for a class is not inherited."
        if parents
        else ""
    )
    return (
        f"No worst-case stability bound is known for {cls.__name__}.{inherited} Use "
        "PrivateElasticNetClassifier or PrivateElasticNet for linear models, SparseDPSGDClassifier "
        "for wide sparse rows, PrivateMLPClassifier for networks; or wrap one of the classes in "
        "skdp.stability.stability_registry(). What you can prove yourself, declare: "
        "stability=ParameterStability(l2=...)."
    )
