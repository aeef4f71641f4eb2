"""Where the noise of an elastic net comes in: the values of its parameter ``perturbation``."""

from typing import final

from skdp.objectives import ElasticNet
from skdp.privacy import Neighbours
from skdp.stability.erm import GradientDiameterBound, PublishedBound
from skdp.stability.noise import NOISE_RULES
from skdp.stability.objective_penalty import planned_objective_penalty
from skdp.stability.objective_perturbation import OBJECTIVE_NOISES, ObjectivePerturbationPlan
from skdp.stability.output_perturbation import OutputPerturbationPlan, planned_penalty

__all__ = ["BOUNDS", "PERTURBATIONS"]

BOUNDS = {"tight": GradientDiameterBound(), "paper": PublishedBound()}


@final
class OutputPerturbation:
    """Noise on the minimiser."""

    def plan(self, model, loss, domain):
        """Fix everything that depends on public facts alone."""
        if domain.neighbours is not Neighbours.REPLACE_ONE:
            raise ValueError(
                f"neighbours={domain.neighbours.value!r} is for perturbation='objective'; "
                "perturbation='output' promises replace-one, which is the stronger. Set "
                "neighbours='replace-one'."
            )
        rules = {
            "tol": model._number("tol"),
            "bound": BOUNDS[model.bound],
            "noise": NOISE_RULES[model.noise],
        }
        return _plan(model, loss, domain, planned_penalty, OutputPerturbationPlan, rules)

    def theorem(self, model):
        """The theorem on what the noise must hide."""
        return BOUNDS[model.bound].theorem

    def deviation(self, mechanism):
        """Standard deviation of the noise on a weight."""
        return mechanism.standard_deviation


@final
class ObjectivePerturbation:
    """Noise on the gradient of what is minimised."""

    def plan(self, model, loss, domain):
        """Fix everything that depends on public facts alone."""
        if model.noise not in OBJECTIVE_NOISES:
            raise ValueError(
                f"noise={model.noise!r} is for perturbation='output': what moves here is a "
                "gradient, whose bound is in the L2 norm. Set noise='auto', 'l2_laplace' or "
                "'gaussian'."
            )
        if model.bound != "tight":
            raise ValueError(
                f"bound={model.bound!r} is a bound on how far a minimiser moves, which "
                "perturbation='objective' does not need. Set bound='tight'."
            )
        if model.threshold == "auto":
            raise ValueError(
                "threshold='auto' needs the law of the noise on a weight, which under "
                "perturbation='objective' depends on the data. Set a number or None, or "
                "perturbation='output'."
            )
        rules = {"tol": model._number("tol"), "noise": OBJECTIVE_NOISES[model.noise]}
        return _plan(
            model, loss, domain, planned_objective_penalty, ObjectivePerturbationPlan, rules
        )

    def theorem(self, model):
        """The theorem on what the noise must hide."""
        return (
            "The law of a tilted minimiser has the density of the tilt at minus the gradient, "
            "times a Jacobian (Chaudhuri, Monteleoni and Sarwate 2011; Kifer, Smith and Thakurta "
            "2012, Theorem 1 for the convex penalty)"
        )

    def deviation(self, mechanism):
        """Standard deviation of the noise on a weight, at most: where the loss has no curvature."""
        return mechanism.standard_deviation / mechanism.curvature


PERTURBATIONS = {"output": OutputPerturbation(), "objective": ObjectivePerturbation()}


def _plan(model, loss, domain, planned, kind, rules):
    budget, l1_ratio = model._budget(), model._number("l1_ratio")
    if model.alpha == "auto":
        penalty = planned(loss, l1_ratio, domain, budget, **rules)
    else:
        penalty = ElasticNet(alpha=model._number("alpha"), l1_ratio=l1_ratio)
    return kind.for_penalty(loss, penalty, domain, budget, **rules)
