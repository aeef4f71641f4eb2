"""skdp: differentially private estimators for scikit-learn.

Subpackages are imported on first use: ``skdp.linear_model``, ``skdp.preprocessing``,
``skdp.training``, ``skdp.privacy``, ``skdp.datasets``.
"""

import importlib
from types import ModuleType

__version__ = "0.1.0"

_SUBPACKAGES = (
    "datasets",
    "feature_selection",
    "linear_model",
    "preprocessing",
    "privacy",
    "training",
)


def __getattr__(name: str) -> ModuleType:
    if name in _SUBPACKAGES:
        return importlib.import_module(f"skdp.{name}")
    raise AttributeError(f"module 'skdp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *_SUBPACKAGES]
