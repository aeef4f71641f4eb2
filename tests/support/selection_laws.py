"""What selections should do: probabilities of every outcome, by formulas and quadrature.

Scores are given for all coordinates, noise has scale 1, and an outcome is a frozenset of
coordinates. Nothing here draws, and nothing is shared with the code under test.
"""

import itertools
import math

import numpy as np
from scipy import stats
from scipy.integrate import quad

GRID = np.linspace(-60.0, 90.0, 30_001)


def sets_of(size, k):
    return [frozenset(chosen) for chosen in itertools.combinations(range(size), k)]


def top_law(densities, cdfs, k, step):
    """P(A) = int sum_{i in A} f_i prod_{j in A, j != i} (1 - F_j) prod_{b not in A} F_b.

    `densities` and `cdfs` have one row a coordinate, on an even grid of spacing `step`.
    """
    law = {}
    for chosen in sets_of(len(cdfs), k):
        below = np.prod([cdfs[b] for b in range(len(cdfs)) if b not in chosen], axis=0)
        lowest = sum(
            densities[i] * np.prod([1 - cdfs[j] for j in chosen if j != i], axis=0) for i in chosen
        )
        law[chosen] = float(np.sum(below * lowest) * step)
    return law


def noisy_top(scores, k, noise):
    """The k largest of score plus noise of a law of scipy."""
    shifted = GRID - np.reshape(scores, (-1, 1))
    return top_law(noise.pdf(shifted), noise.cdf(shifted), k, GRID[1] - GRID[0])


def gaussian_top(values, k):
    """The k largest of |value + N|, N standard normal."""
    t = np.linspace(0.0, 40.0, 40_001)
    low, high = (stats.norm.pdf(t - sign * np.reshape(values, (-1, 1))) for sign in (1, -1))
    cdf = stats.norm.cdf(t - np.reshape(values, (-1, 1))) - stats.norm.cdf(
        -t - np.reshape(values, (-1, 1))
    )
    weight = np.where((t == 0) | (t == t[-1]), 0.5, 1.0)
    return top_law(weight * (low + high), cdf, k, t[1] - t[0])


def peeled(scores, k, first):
    """One after the other, `first` giving the law of one pick from the scores that are left."""
    law = dict.fromkeys(sets_of(len(scores), k), 0.0)
    for order in itertools.permutations(range(len(scores)), k):
        probability, left = 1.0, list(range(len(scores)))
        for pick in order:
            law_of_pick = first(tuple(scores[j] for j in left))
            probability *= law_of_pick[frozenset([left.index(pick)])]
            left.remove(pick)
        law[frozenset(order)] += probability
    return law


def exponential_mechanism(scores):
    weights = np.exp(np.array(scores) - max(scores))
    return {frozenset([j]): w / weights.sum() for j, w in enumerate(weights)}


def permute_and_flip(scores):
    """In random order, stop at j with probability exp(score_j - max): by its definition."""
    stop = np.exp(np.array(scores) - max(scores))
    law = {}
    for j in range(len(scores)):

        def reached(place, j=j):
            """The probability that nobody stopped, each one having come before with `place`."""
            return np.prod(1 - place * np.delete(stop, j))

        law[frozenset([j])] = float(stop[j] * quad(reached, 0, 1)[0])
    return law


def gaussian_threshold(values, threshold):
    passing = stats.norm.sf(threshold - np.array(values))
    law = {}
    for k in range(len(values) + 1):
        for chosen in sets_of(len(values), k):
            law[chosen] = math.prod(p if j in chosen else 1 - p for j, p in enumerate(passing))
    return law


def sparse_vector(scores, c, threshold, threshold_scale, query_scale):
    """One threshold noise; the first c, in random order, of those that pass."""
    moves = np.linspace(-45.0, 45.0, 6001)
    density = stats.laplace.pdf(moves) * (moves[1] - moves[0])
    bars = threshold + threshold_scale * moves
    passing = [stats.laplace.sf(bars - score, scale=query_scale) for score in scores]
    law = {chosen: 0.0 for k in range(c + 1) for chosen in sets_of(len(scores), k)}
    for k in range(len(scores) + 1):
        for passed in sets_of(len(scores), k):
            factors = [p if j in passed else 1 - p for j, p in enumerate(passing)]
            probability = float(np.sum(density * np.prod(factors, axis=0)))
            parts = [frozenset(part) for part in itertools.combinations(passed, min(c, k))]
            for part in parts:
                law[part] += probability / len(parts)
    return law


def refreshed_sparse_vector(scores, c, threshold, threshold_scale, query_scale):
    """The threshold noise is drawn anew after each coordinate that passes."""
    moves = np.linspace(-45.0, 45.0, 6001)
    density = stats.laplace.pdf(moves) * (moves[1] - moves[0])
    bars = threshold + threshold_scale * moves
    passing = [stats.laplace.sf(bars - score, scale=query_scale) for score in scores]
    law = {chosen: 0.0 for k in range(c + 1) for chosen in sets_of(len(scores), k)}

    def walk(order, chosen, probability):
        if len(chosen) == c:
            law[chosen] += probability
            return
        nobody = density
        for place, j in enumerate(order):
            stopped = float(np.sum(nobody * passing[j]))
            walk(order[place + 1 :], chosen | {j}, probability * stopped)
            nobody = nobody * (1 - passing[j])
        law[chosen] += probability * float(nobody.sum())

    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        walk(order, frozenset(), 1 / len(orders))
    return law


def losses(first, second):
    """Logarithms of the ratios of two laws, over all outcomes."""
    return np.array([math.log(first[outcome] / second[outcome]) for outcome in first])
