"""Optimisers: against plain loops over dense vectors."""

import numpy as np
import pytest

from skdp.mechanisms.statistics import Selection
from skdp.training import SGD, Adam, Descent, Momentum

SIZE, STEPS = 7, 30


def descent(**changes):
    settings = {
        "learning_rates": np.linspace(0.5, 0.1, STEPS),
        "divisor": 4.0,
        "decay": 0.3,
        "n_free": 2,
        "average_from": STEPS // 2,
        **changes,
    }
    return Descent(**settings)


def updates(seed=0):
    """Sums of gradients, dense and on some coordinates in turn."""
    rng = np.random.default_rng(seed)
    for step in range(STEPS):
        dense = rng.normal(size=SIZE)
        if step % 3:
            chosen = np.sort(rng.choice(SIZE, 3, replace=False))
            dense[np.setdiff1d(np.arange(SIZE), chosen)] = 0.0
            yield Selection(chosen, dense[chosen]), dense
        else:
            yield dense, dense


def plain_sgd(settings, start, dense_updates):
    w, iterates = start.copy(), []
    shrinks = np.ones(SIZE)
    shrinks[: SIZE - settings.n_free] = settings.decay
    shrinks[SIZE - settings.n_free :] = 0.0
    for rate, total in zip(settings.learning_rates, dense_updates, strict=True):
        w = w - rate * shrinks * w - rate * total / settings.divisor
        iterates.append(w.copy())
    return np.mean(iterates[settings.average_from :], axis=0)


@pytest.mark.parametrize("decay", [0.0, 0.3, 1.9])
@pytest.mark.parametrize("average_from", [0, STEPS // 2, STEPS - 1])
def test_sgd_is_that_of_the_textbook(decay, average_from):
    settings = descent(decay=decay, average_from=average_from)
    start = np.arange(SIZE, dtype=float)
    optimizer = SGD(settings, start)
    for total, _ in updates():
        optimizer.apply(total)
    expected = plain_sgd(settings, start, [dense for _, dense in updates()])
    np.testing.assert_allclose(optimizer.result(), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("average_from", [0, STEPS // 2, STEPS - 1])
def test_momentum_is_that_of_polyak(average_from):
    settings = descent(average_from=average_from)
    start = np.arange(SIZE, dtype=float)
    shrinks = np.repeat([settings.decay, 0.0], [SIZE - settings.n_free, settings.n_free])
    optimizer, w, velocity, iterates = Momentum(settings, start, 0.7), start.copy(), 0.0, []
    for rate, total in zip(
        settings.learning_rates, [dense for _, dense in updates(1)], strict=True
    ):
        optimizer.apply(total)
        velocity = 0.7 * velocity + total / settings.divisor
        w = (1 - rate * shrinks) * w - rate * velocity
        iterates.append(w)
    expected = np.mean(iterates[settings.average_from :], axis=0)
    np.testing.assert_allclose(optimizer.result(), expected, rtol=1e-12, atol=1e-13)


def test_the_velocity_of_coordinates_that_no_update_touches_stands_still():
    optimizer = Momentum(descent(decay=0.0, average_from=STEPS - 1), np.zeros(SIZE), 0.5)
    optimizer.apply(Selection([0], np.array([4.0])))
    before = optimizer.values.copy()
    optimizer.apply(Selection([1], np.array([4.0])))
    assert optimizer.values[0] == before[0]


def test_without_momentum_it_is_sgd():
    results = []
    for optimizer in (SGD(descent(), np.zeros(SIZE)), Momentum(descent(), np.zeros(SIZE), 0.0)):
        for total, _ in updates():
            optimizer.apply(total)
        results.append(optimizer.result())
    np.testing.assert_array_equal(*results)


def test_decay_down_to_nothing_is_rescaled_without_loss():
    rates = np.full(STEPS, 0.999999)
    settings = descent(learning_rates=rates, decay=1.0, average_from=3)
    start = np.ones(SIZE)
    optimizer = SGD(settings, start)
    for total, _ in updates():
        optimizer.apply(total)
    expected = plain_sgd(settings, start, [dense for _, dense in updates()])
    np.testing.assert_allclose(optimizer.result(), expected, rtol=1e-9, atol=1e-13)
    assert optimizer.scale > 1e-4


def test_adam_is_that_of_the_paper_on_dense_gradients():
    settings = descent(decay=0.0, average_from=STEPS - 1)
    optimizer = Adam(settings, np.zeros(SIZE))
    w, first, second = np.zeros(SIZE), np.zeros(SIZE), np.zeros(SIZE)
    for t, (_, dense) in enumerate(updates(), start=1):
        optimizer.apply(dense)
        g = dense / 4.0
        first, second = 0.9 * first + 0.1 * g, 0.999 * second + 0.001 * g * g
        step = first / (1 - 0.9**t) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
        w = w - settings.learning_rates[t - 1] * step
    np.testing.assert_allclose(optimizer.result(), w, rtol=1e-12)


def test_adam_leaves_what_is_not_selected_alone():
    optimizer = Adam(descent(decay=0.0, average_from=STEPS - 1), np.zeros(SIZE))
    for _ in range(STEPS):
        optimizer.apply(Selection(np.array([1, 4]), np.array([1.0, -2.0])))
    assert np.flatnonzero(optimizer.result()).tolist() == [1, 4]


def test_a_selection_without_values_is_refused():
    with pytest.raises(ValueError, match="no update"):
        SGD(descent(), np.zeros(SIZE)).apply(Selection(np.array([1]), None))
