"""Clipped gradients of a network: right, whole, exact enough, and each record's own."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from skdp._random import RandomSource
from skdp.objectives import Huber, Logistic, Multinomial
from skdp.training.mlp_activations import ACTIVATIONS
from skdp.training.mlp_gradients import MlpGradients, block_size, summation_depth
from skdp.training.mlp_network import Network
from skdp.training.mlp_rounding import record_norm, refuse_coarse_sums
from tests.support.private_sgd import null_network_record

N, D = 9, 5
rng = np.random.default_rng(4)
X = rng.normal(size=(N, D))
LOSSES = {
    "softmax": (Multinomial(3), rng.integers(3, size=N).astype(float)),
    "logistic": (Logistic(), rng.choice([-1.0, 1.0], N)),
    "huber": (Huber(), rng.normal(size=N)),
}
FINE = 2.0**-40


def network_for(loss, activation, hidden=(4, 6)):
    return Network((D, *hidden, loss.n_outputs), ACTIVATIONS[activation])


def loss_of(network, loss, parameters, row, target):
    values = row[None]
    layers = network.layers(parameters)
    for place, (weights, biases) in enumerate(layers):
        values = values @ weights + biases
        if place < len(layers) - 1:
            values = {
                "Identity": lambda z: z,
                "Relu": lambda z: np.where(z > 0, z, 0),
                "Tanh": np.tanh,
                "LogisticUnit": lambda z: 1 / (1 + np.exp(-z)),
            }[type(network.activation).__name__](values)
    scores = values if loss.n_outputs > 1 else values.ravel()
    return loss.value(scores, np.array([target])).item()


def by_differences(network, loss, parameters, row, target, step=1e-6):
    def at(shift):
        return loss_of(network, loss, parameters + shift, row, target)

    return np.array([(at(step * e) - at(-step * e)) / (2 * step) for e in np.eye(len(parameters))])


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("name", LOSSES)
def test_gradients_are_those_of_finite_differences_each_clipped_as_a_whole(activation, name):
    loss, targets = LOSSES[name]
    network = network_for(loss, activation)
    parameters = rng.normal(size=network.n_parameters)
    each = np.array(
        [
            by_differences(network, loss, parameters, row, target)
            for row, target in zip(X, targets, strict=True)
        ]
    )
    norms = np.linalg.norm(each, axis=1)
    clip = np.median(norms)
    expected = (each * np.minimum(1, clip / norms)[:, None]).sum(axis=0)
    rows = np.arange(N)
    for data, tolerance in ((X, 1e-6), (sp.csr_array(X), 1e-6), (X.astype(np.float32), 1e-4)):
        gradients = MlpGradients(data, targets, loss, network)
        found = gradients.clipped_sum(parameters / 4, 4.0, rows, max_norm=clip, grid=FINE)
        np.testing.assert_allclose(found, expected, atol=tolerance * np.abs(expected).max())
        alone = gradients.clipped_sum(parameters, 1.0, rows[:1], max_norm=1e9, grid=FINE)
        np.testing.assert_allclose(alone, each[0], atol=10 * tolerance * norms[0] + 1e-9)


def test_blocks_of_records_make_no_difference(monkeypatch):
    loss = Multinomial(3)
    network = network_for(loss, "tanh")
    many = rng.normal(size=(300, D))
    gradients = MlpGradients(many, rng.integers(3, size=300), loss, network)
    parameters, rows = rng.normal(size=network.n_parameters), rng.permutation(300)
    whole = gradients.clipped_sum(parameters, 1.0, rows, max_norm=0.5, grid=FINE)
    assert block_size(network) > 300
    monkeypatch.setattr("skdp.training.mlp_gradients._MOST_ROWS", 64)
    gradients = MlpGradients(many, gradients._targets, loss, network)
    cut = gradients.clipped_sum(parameters, 1.0, rows, max_norm=0.5, grid=FINE)
    assert summation_depth(network, 300) == 64 + 5 + 2
    np.testing.assert_allclose(cut, whole, rtol=1e-8, atol=1e-8)


def test_no_record_and_no_gradient_make_a_sum_of_zeros():
    loss, targets = LOSSES["logistic"]
    network = network_for(loss, "relu")
    gradients = MlpGradients(X, targets, loss, network)
    nobody = np.zeros(0, dtype=np.int64)
    for rows, values in ((nobody, 1.0), (np.arange(N), np.nan), (np.arange(N), np.inf)):
        given = np.full(network.n_parameters, values)
        total = gradients.clipped_sum(given, 1.0, rows, max_norm=1.0, grid=FINE)
        np.testing.assert_array_equal(total, 0.0)


@pytest.mark.parametrize("huge", [1e200, 1.7e308])
def test_a_record_that_is_not_finite_adds_nothing_and_spoils_nothing(huge):
    loss, targets = LOSSES["softmax"]
    network = network_for(loss, "relu")
    parameters = rng.normal(size=network.n_parameters)
    rows = np.arange(N)
    ugly = X.copy()
    ugly[3] = huge * np.array([1, -1, 1, -1, 1])
    found = MlpGradients(ugly, targets, loss, network).clipped_sum(
        parameters, 1.0, rows, max_norm=1.0, grid=FINE
    )
    with null_network_record(3):
        expected = MlpGradients(X, targets, loss, network).clipped_sum(
            parameters, 1.0, rows, max_norm=1.0, grid=FINE
        )
    np.testing.assert_array_equal(found, expected)


def test_an_input_that_makes_hidden_units_infinite_is_null_in_float32():
    loss, targets = LOSSES["logistic"]
    network = network_for(loss, "relu")
    parameters = np.abs(rng.normal(size=network.n_parameters)) * 1e3
    ugly = X.astype(np.float32)
    ugly[0] = 3e38
    total = MlpGradients(ugly, targets, loss, network).clipped_sum(
        parameters, 1.0, np.arange(N), max_norm=1.0, grid=FINE
    )
    assert np.isfinite(total).all()


class Recorded:
    """What a batch computes for each record: the errors times the factor, layer by layer."""

    def __init__(self, monkeypatch):
        self.errors = []
        true = MlpGradients._clip

        def recording(gradients, rows, outputs, errors, limit):
            true(gradients, rows, outputs, errors, limit)
            self.errors.extend([*errors, *outputs[1:]])

        monkeypatch.setattr(MlpGradients, "_clip", recording)

    def of(self, gradients, parameters, rows):
        self.errors = []
        gradients.clipped_sum(parameters, 1.0, rows, max_norm=0.7, grid=FINE)
        return self.errors


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_one_record_changes_no_bit_of_what_is_computed_for_another(
    monkeypatch, activation, storage, dtype
):
    recorded = Recorded(monkeypatch)
    for (n, d), hidden, outputs in itertools.product(
        [(67, 33), (256, 100)], [(64,), (7, 5)], [1, 10]
    ):
        loss = Logistic() if outputs == 1 else Multinomial(outputs)
        network = Network((d, *hidden, outputs), ACTIVATIONS[activation])
        table = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.4)
        targets = rng.choice([-1.0, 1.0], n) if outputs == 1 else rng.integers(outputs, size=n)
        parameters = network.initial(RandomSource.from_seed(0)) * 5
        rows = rng.permutation(n)
        first = recorded.of(
            MlpGradients(storage(table.astype(dtype)), targets, loss, network), parameters, rows
        )
        for place, row in ((0, np.zeros(d)), (n // 2, 1e30), (n - 1, rng.normal(size=d))):
            other = table.copy()
            other[rows[place]] = row
            second = recorded.of(
                MlpGradients(storage(other.astype(dtype)), targets, loss, network), parameters, rows
            )
            kept = np.arange(n) != place
            for one, another in zip(first, second, strict=True):
                np.testing.assert_array_equal(one[kept], another[kept])


def at_kinks(n, dtype, hidden=(16, 8)):
    """Records, weights and biases of small whole numbers: many units get exactly 0."""
    network = Network((12, *hidden, 3), ACTIVATIONS["relu"])
    table = rng.integers(-1, 2, size=(n, 12)).astype(dtype)
    gradients = MlpGradients(table, rng.integers(3, size=n), Multinomial(3), network)
    return gradients, rng.integers(-1, 2, size=network.n_parameters).astype(float)


def largest_move(gradients, parameters, clip, grid, tries):
    """Exact squared distance of rounded sums, over neighbours, in units of the squared clip."""
    n = gradients.n_records

    def rounded():
        total = gradients.clipped_sum(parameters, 1.0, np.arange(n), max_norm=clip, grid=grid)
        return np.rint(total / grid)

    whole, largest = rounded(), Fraction(0)
    for row in range(0, n, n // tries):
        with null_network_record(row):
            moved = (whole - rounded()).astype(np.int64)
        square = sum(int(m) ** 2 for m in moved.tolist()) * Fraction(grid) ** 2
        largest = max(largest, square / Fraction(clip) ** 2)
    return largest


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("grid", [2.0**-9, 2.0**-13, 2.0**-20])
def test_a_null_record_moves_rounded_sums_by_the_clip_at_most(dtype, grid):
    gradients, parameters = at_kinks(4000, dtype)
    assert 0.7 < largest_move(gradients, parameters, 0.3, grid, 25) <= 1


def test_without_the_correction_it_moves_them_further(monkeypatch):
    gradients, parameters = at_kinks(1000, np.float64)
    monkeypatch.setattr("skdp.training.mlp_gradients.record_norm", lambda norm, *public: norm)
    assert largest_move(gradients, parameters, 0.3, 2.0**-13, 25) > 1


def test_clipping_each_layer_alone_moves_them_further(monkeypatch):
    gradients, parameters = at_kinks(1000, np.float64)

    def layer_by_layer(self, rows, outputs, errors, limit):
        for place, delta in enumerate(errors):
            entering = (
                self._squared_norms[rows] if place == 0 else (outputs[place] ** 2).sum(axis=1)
            )
            norms = np.sqrt((entering + 1) * (delta**2).sum(axis=1))
            errors[place] = delta * np.minimum(1, limit / np.maximum(norms, 1e-300))[:, None]

    monkeypatch.setattr(MlpGradients, "_clip", layer_by_layer)
    moved = self_move(gradients, parameters)
    assert moved > 1.2


def self_move(gradients, parameters, row=0, clip=0.3):
    """Norm of what one record adds, in units of the clip."""
    total = gradients.clipped_sum(parameters, 1.0, np.array([row]), max_norm=clip, grid=FINE)
    return np.linalg.norm(total) / clip


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_no_record_adds_more_than_its_norm_and_long_ones_add_all_of_it(dtype):
    gradients, parameters = at_kinks(300, dtype)
    moves = [self_move(gradients, parameters, row) for row in range(300)]
    assert max(moves) <= 1
    assert max(moves) > 0.999


def test_tiny_values_whose_squares_vanish_in_float32_are_not_taken_for_nothing():
    """Squares below 1e-45 are 0: errors of 1e-30 times inputs of 1e30 have a norm of 1."""
    network = Network((1, 1, 1), ACTIVATIONS["identity"])
    table = np.array([[1e30]], dtype=np.float32)
    gradients = MlpGradients(table, [1.0], Logistic(), network)
    parameters = np.array([0.0, 1e-24, 0.0, 0.0])
    assert self_move(gradients, parameters, clip=1e-3) <= 1


def test_what_is_left_of_a_clip_is_the_formula():
    left = record_norm(2.0, 2.0**-12, 100, n_records=1000, depth=500)
    gamma = Fraction(500, 2**53) / (1 - Fraction(500, 2**53))
    exact = (2 - Fraction(10, 2**12)) / (1 + 2 * gamma * 1000)
    assert float(exact) * (1 - 2.0**-39) < left < float(exact)


def test_so_much_noise_that_rounding_takes_a_tenth_is_refused():
    refuse_coarse_sums(1.0, 2.0**-12, 100_000, 1000, 1000)
    with pytest.raises(ValueError, match=r"would take 12% of max_grad_norm"):
        refuse_coarse_sums(1.0, 2.0**-12, 250_000, 1000, 1000)


def test_sums_over_many_records_hardly_lower_the_clip():
    network = Network((100, 1000, 10), ACTIVATIONS["relu"])
    n = 10**7
    assert record_norm(1.0, FINE, 1, n, summation_depth(network, n)) > 1 - 1e-4


def test_selections_are_refused():
    gradients, _ = at_kinks(10, np.float64)
    with pytest.raises(NotImplementedError, match="linear models alone"):
        gradients.contribution_map(np.arange(2), max_norm=1.0, grid=FINE)
    with pytest.raises(NotImplementedError, match="linear models alone"):
        gradients.restricted_sum(None, 1.0, np.arange(2), np.arange(2), max_norm=1.0, grid=FINE)


def test_shapes_that_do_not_fit_are_refused():
    network = Network((3, 2, 1), ACTIVATIONS["relu"])
    with pytest.raises(ValueError, match="floats in 3 columns"):
        MlpGradients(X, np.zeros(N), Logistic(), network)
    with pytest.raises(ValueError, match="different numbers of outputs"):
        MlpGradients(X[:, :3], np.zeros(N), Multinomial(3), network)


def test_initial_weights_are_spread_as_glorot_and_bengio_say_but_three_times_as_far_at_first():
    network = Network((300, 200, 10), ACTIVATIONS["tanh"])
    first, last = network.layers(network.initial(RandomSource.from_seed(0)))
    for layer, fans, factor in ((first, 500, 3), (last, 210, 1)):
        assert np.abs(layer.weights).max() == pytest.approx(factor * math.sqrt(6 / fans), rel=0.01)
        assert layer.weights.var() == pytest.approx(factor**2 * 2 / fans, rel=0.1)
        np.testing.assert_array_equal(layer.biases, 0)
    linear = Network((300, 10), ACTIVATIONS["tanh"])
    (only,) = linear.layers(linear.initial(RandomSource.from_seed(0)))
    assert np.abs(only.weights).max() == pytest.approx(math.sqrt(6 / 310), rel=0.01)
