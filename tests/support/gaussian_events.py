"""What is proved of Gaussian noise that is run up to a total variation."""

import math

from scipy.optimize import minimize_scalar

from skdp.privacy.gaussian_curve import gaussian_delta


def proved_delta(mu, total_variation, epsilon):
    """Least delta at `epsilon`: that of any smaller epsilon will do.

    At a the noise as run has at most delta(a) + (1 + e^a) total_variation.
    """

    def logarithm(at):
        return math.log(gaussian_delta(mu, at) + (1 + math.exp(at)) * total_variation)

    inside = minimize_scalar(logarithm, bounds=(0, epsilon), method="bounded").fun
    return math.exp(min(logarithm(0.0), logarithm(epsilon), inside))
