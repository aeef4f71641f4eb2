"""Estimators around other estimators."""

from skdp.meta.output_perturbation import StabilityOutputPerturbation

__all__ = ["StabilityOutputPerturbation"]
