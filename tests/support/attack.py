"""Attacks on a release, as `skdp.audit.releases` plans them, at the error rate of the tests."""

from functools import partial

from skdp.audit.releases import ReleaseAttack, l2_ratio, values_of
from skdp.audit.releases import likelihood_attack as planned_attack

__all__ = [
    "ERROR_RATE",
    "NOISES",
    "Attack",
    "accuses",
    "class_difference_attack",
    "gain_for",
    "likelihood_attack",
    "values_of",
]

#: How often one audit may accuse an innocent. Fewer than 200 audits are made in a run, slow ones
#: counted, so that all of them together raise a false alarm at most once in a million runs.
ERROR_RATE = 5e-9

#: (noise, delta). A large delta, so that a few hundred draws can measure it.
NOISES = [("laplace", 0.0), ("l2_laplace", 0.0), ("gaussian", 0.3)]

Attack = partial(ReleaseAttack, error_rate=ERROR_RATE)
likelihood_attack = partial(planned_attack, error_rate=ERROR_RATE)


def gain_for(epsilon, delta):
    """Show epsilon for pure noise and delta, at the epsilon claimed, for the other one."""
    if delta == 0:
        return lambda counts: counts.epsilon()
    return lambda counts: counts.delta(epsilon)


def accuses(counts, epsilon, delta):
    """Whether more has been shown than the (epsilon, delta) that is claimed."""
    return counts.epsilon(delta) > epsilon or counts.delta(epsilon) > delta


def class_difference_attack(estimator, pair):
    """Plan the event that the first and last class's rows differ as on D rather than on D'.

    Noise that is the same for every class cancels in the difference.
    """
    mechanism, first, second = values_of(estimator, *pair)
    n_classes = len(estimator.classes)
    shape = (-1, n_classes, mechanism.size // n_classes)

    def difference(outputs):
        rows = outputs.reshape(shape)
        return rows[:, 0] - rows[:, -1]

    def statistic(outputs, first, second):
        return l2_ratio(difference(outputs), difference(first), difference(second))

    return Attack(mechanism, first, second, statistic, 0.0)
