"""Record and replay of private networks: only releases see data, and each moves by its bound."""

import math
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp

from skdp.mechanisms.label_codes import LabelCodes
from skdp.neural_network import PrivateMLPClassifier, PrivateMLPRegressor, mlp_settings
from skdp.privacy import Neighbours
from skdp.records.row_blocks import centred_blocks
from skdp.training import PoissonSampler, ShuffledBatches
from skdp.training.centre import Centre
from skdp.training.components import Components
from skdp.training.frame import Frame
from skdp.training.mlp_automatic import NetworkFacts
from skdp.training.mlp_gradients import MlpGradients
from skdp.training.standardise import Preparation
from skdp.training.steps import DenseStep
from tests.support.private_sgd import null_network_record
from tests.support.replay import violations

N, D = 12, 5
KINDS = ("random", "huge", "not finite", "empty", "alone", "kinks")
SEED = 11


def rows_of(kind, rng):
    X = np.where(rng.random((N, D)) < 0.5, rng.normal(size=(N, D)), 0.0)
    if kind == "huge":
        X[0] = 1e200
    if kind == "not finite":
        X[0] = np.array([1.7e308, -1.7e308, 1.7e308, 1e-308, 3.0])
    if kind == "empty":
        X[0] = 0.0
    if kind == "alone":
        X[1:] = 0.0
    if kind == "kinks":
        X = np.sign(X)
    return X


def pair(kind, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rows_of(kind, rng), rng.integers(2, size=N)
    X_other, y_other = X.copy(), y.copy()
    X_other[0], y_other[0] = -3 * rng.normal(size=D), 1 - y[0]
    return (X, y), (X_other, y_other)


def make(**parameters):
    given = {
        "hidden_layer_sizes": (4, 3), "epsilon": 2.0, "delta": 1e-3, "n_epochs": 2,
        "classes": (0, 1), "random_state": SEED,
    }  # fmt: skip
    if not {"batch_size", "sampling"} & set(parameters):
        given["batch_size"] = 5
    return PrivateMLPClassifier(**{**given, **parameters})


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("sampling", ["poisson", "shuffled", "full"])
def test_a_null_record_shows_in_nothing_but_the_releases(sampling, dtype, storage):
    for kind in KINDS:
        (X, y), _ = pair(kind)
        with np.errstate(over="ignore"):
            rows = np.clip(X, -3e38, 3e38).astype(dtype)
        size = {} if sampling == "full" else {"batch_size": 5}
        model = make(sampling=sampling, **size)
        data = (storage(rows), y)
        assert violations(model, data, data, around_neighbour=null_network_record) == [], kind


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize(
    "sampling",
    [
        "fixed_size",
        PoissonSampler(5 / N, 5.0, Neighbours.REPLACE_ONE),
        ShuffledBatches(5, N, Neighbours.REPLACE_ONE),
    ],
    ids=["fixed size", "poisson", "shuffled"],
)
def test_a_replaced_record_shows_in_nothing_but_the_releases(sampling, storage):
    size = {"batch_size": 5} if isinstance(sampling, str) else {}
    for kind in KINDS:
        first, second = ((storage(X), y) for X, y in pair(kind))
        assert violations(make(sampling=sampling, **size), first, second) == [], kind


@pytest.mark.parametrize(
    "parameters",
    [
        {"optimizer": "adam"},
        {"optimizer": "sgd", "average": False},
        {"alpha": 0.2},
        {"activation": "tanh", "max_grad_norm": 0.01},
        {"activation": "logistic", "hidden_layer_sizes": 3},
        {"activation": "identity", "hidden_layer_sizes": ()},
        {"classes": (0, 1, 2)},
        {"center": "private"},
        {"center": "private", "center_norm": 0.01, "sampling": "shuffled"},
        {"n_components": 2},
        {"n_components": 5, "center_norm": 0.01, "sampling": "full", "hidden_layer_sizes": ()},
    ],
    ids=str,
)
def test_other_options_show_nothing_either(parameters):
    for kind in KINDS:
        data, _ = pair(kind)
        found = violations(make(**parameters), data, data, around_neighbour=null_network_record)
        assert found == [], kind


def test_nor_do_regression_and_blocks():
    X, y = pair("random")[0]
    regression = PrivateMLPRegressor(
        epsilon=2.0, delta=1e-3, n_epochs=2, batch_size=5, random_state=SEED
    )
    data = (X, 1e6 * y)
    assert violations(regression, data, data, around_neighbour=null_network_record) == []
    data = (X, y, np.arange(N) % 3)
    model = make(batch_size="auto")
    assert violations(model, data, data, around_neighbour=null_network_record) == []


def test_nor_does_a_large_batch_of_records_at_kinks():
    """Thousands of roundings, and clips at which a second one would show."""
    rng = np.random.default_rng(0)
    X = rng.integers(-1, 2, size=(3000, 8)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    model = make(sampling="full", n_epochs=3, delta=1e-5, max_grad_norm=0.05)
    assert violations(model, (X, y), (X, y), around_neighbour=null_network_record) == []
    other = X.copy()
    other[0] = -7.0
    sampling = ShuffledBatches(1500, 3000, Neighbours.REPLACE_ONE)
    model = make(sampling=sampling, n_epochs=2, delta=1e-5, max_grad_norm=0.05)
    assert violations(model, (X, y), (other, y)) == []


def test_a_replaced_record_shows_in_the_centre_by_no_more_than_its_bound():
    X, other = np.zeros((2, N, D))
    X[0, 0], other[0, 0] = 9.0, -9.0
    y = np.arange(N) % 2
    model = make(sampling="fixed_size", center="private", center_norm=3.0)
    assert violations(model, (X, y), (other, y)) == []


def test_nor_do_rows_that_are_lengthened_around_a_centre(monkeypatch):
    monkeypatch.setattr(NetworkFacts, "row_scale", lambda self: 1.7)
    for kind in KINDS:
        data, other = pair(kind)
        model = make(center="private")
        assert violations(model, data, data, around_neighbour=null_network_record) == [], kind
        model = make(center="private", sampling="fixed_size")
        assert violations(model, data, other) == [], kind


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("sampling", ["fixed_size", "poisson"])
def test_nor_do_components(sampling, dtype, monkeypatch):
    """Whether directions are left out included: it is a function of what is released."""
    monkeypatch.setattr(mlp_settings, "_FEWEST_COLUMNS", 2)
    monkeypatch.setattr(mlp_settings, "_COMPONENTS", 2)
    monkeypatch.setattr(mlp_settings, "_MOST_COMPONENT_NOISE", math.inf)
    for kind in KINDS:
        with np.errstate(over="ignore"):
            (X, y), (other, labels) = (
                (np.clip(rows, -3e38, 3e38).astype(dtype), labels) for rows, labels in pair(kind)
            )
        for parameters in (
            {"n_components": 2},
            {"center": "private"},
            {"n_components": 4, "classes": (0, 1, 2)},
        ):
            model = make(sampling=sampling, batch_size=5, **parameters)
            if sampling == "poisson":
                how = {"around_neighbour": null_network_record}
                assert violations(model, (X, y), (X, y), **how) == [], kind
            else:
                assert violations(model, (X, y), (other, labels)) == [], kind


@pytest.mark.parametrize("per_group", [1, 2])
def test_a_group_without_rows_is_none_for_what_is_released_before(per_group, monkeypatch):
    """Its place in the table holds a row of zeros, which is no null around a centre."""
    monkeypatch.setattr(mlp_settings, "_FEWEST_COLUMNS", 2)
    monkeypatch.setattr(mlp_settings, "_COMPONENTS", 2)
    monkeypatch.setattr(mlp_settings, "_MOST_COMPONENT_NOISE", math.inf)
    monkeypatch.setattr(mlp_settings, "_LEAST_SHARE", 0.0)
    X, y = pair("random")[0]
    X[-1] = -9.0 * np.sign(X.sum(axis=0))
    model = make(
        center="private", sampling="full", max_rows_per_group=per_group, n_groups=N, epsilon=50.0
    )
    groups = np.arange(N)
    assert violations(model, (X, y, None, groups), (X[:-1], y[:-1], None, groups[:-1])) == []


class TestPlantedBugs:
    """What replay must see."""

    @pytest.mark.parametrize("kind", ["statistics", "moment"])
    def test_rows_that_are_not_clipped_for_the_components(self, kind, monkeypatch):
        place = {
            "statistics": "skdp.training.components.unit_rows",
            "moment": "skdp.training.standardise.clip_rows",
        }
        bounds = {"statistics": lambda X, norm: X / norm, "moment": lambda X, norm: X}
        X, y = pair("random")[0]
        X[0] = 9.0
        norm = {"statistics": 1.0, "moment": 30.0}[kind]
        model = make(n_components=2, center_norm=norm, epsilon=100.0)
        assert violations(model, (X, y), (X, y), around_neighbour=null_network_record) == []
        monkeypatch.setattr(place[kind], bounds[kind])
        found = violations(model, (X, y), (X, y), around_neighbour=null_network_record)
        assert any("input moved by" in sentence for sentence in found)

    def test_labels_that_are_not_bounded_for_the_components(self, monkeypatch):
        (X, y), (other, _) = pair("random")
        model = PrivateMLPRegressor(
            epsilon=100.0, delta=1e-3, n_epochs=2, batch_size=5, n_components=2, y_bound=0.1,
            sampling="fixed_size", random_state=SEED,
        )  # fmt: skip
        y = y + 0.5
        labels = np.where(np.arange(N) == 0, -5.0, y)
        assert violations(model, (X, y), (other, labels)) == []
        true = LabelCodes.of
        monkeypatch.setattr(LabelCodes, "of", lambda self, targets: 9 * true(self, targets))
        found = violations(model, (X, y), (other, labels))
        assert any("input moved by" in sentence for sentence in found)

    def test_components_that_are_not_released(self, monkeypatch):
        def bare(self, X, targets, standard, rng):
            return self.moment.read(self._moments(X, targets, standard))

        monkeypatch.setattr(Preparation, "_noisy_moments", bare)
        assert "attribute components_ changed" in self.found(n_components=2)

    def test_components_that_are_kept_by_the_share_of_the_rows_themselves(self, monkeypatch):
        true = Components.release

        def deciding(self, X, targets, rng):
            frame = true(self, X, targets, rng)
            return frame if np.abs(X[0]).max() > 5 else Frame(frame.centre, None)

        monkeypatch.setattr(Components, "release", deciding)
        X, y = pair("random")[0]
        X[0], other = 9.0, X.copy()
        other[0] = 0.0
        model = make(n_components=2, sampling="fixed_size", batch_size=5)
        assert violations(model, (X, y), (other, y)) != []

    def test_rows_that_are_not_clipped_for_the_centre(self, monkeypatch):
        true = centred_blocks
        monkeypatch.setattr(
            "skdp.training.centre.centred_blocks", lambda X, c, norm: true(X, c, 2 * norm)
        )
        (sentence,) = self.found(center="private", center_norm=0.01)
        assert "an input moved by 2.0" in sentence

    def test_a_centre_that_is_not_released(self, monkeypatch):
        monkeypatch.setattr(
            Centre,
            "release",
            lambda self, X, targets, rng: Frame(
                self.total.vector(centred_blocks(X, None, 1.0)) / len(X), None
            ),
        )
        assert self.found(center="private") != []

    def found(self, **parameters):
        data, _ = pair("random")
        model = make(max_grad_norm=0.01, **parameters)
        return violations(model, data, data, around_neighbour=null_network_record)

    def test_without_a_bug_there_is_nothing(self):
        assert self.found() == []

    def test_each_layer_clipped_alone_and_charged_once(self, monkeypatch):
        def layer_by_layer(self, rows, outputs, errors, limit):
            gone = ~np.isfinite(self._squared_gradients(rows, outputs, errors))
            for place, delta in enumerate(errors):
                if place == 0:
                    entering = self._squared_norms[rows]
                else:
                    entering = (outputs[place] ** 2).sum(axis=1)
                norms = np.sqrt((entering + 1) * (delta**2).sum(axis=1))
                factors = np.minimum(1, limit / np.maximum(norms, 1e-300))
                errors[place] = delta * np.where(gone, 0, factors)[:, None]

        monkeypatch.setattr(MlpGradients, "_clip", layer_by_layer)
        assert any("input moved by 1." in sentence for sentence in self.found())

    def test_biases_left_out_of_the_norm(self, monkeypatch):
        true = MlpGradients._squared_gradients

        def without_biases(self, rows, outputs, errors):
            return true(self, rows, outputs, errors) - sum((d**2).sum(axis=1) for d in errors)

        monkeypatch.setattr(MlpGradients, "_squared_gradients", without_biases)
        assert any("input moved by" in sentence for sentence in self.found())

    def test_sums_that_are_not_clipped(self, monkeypatch):
        monkeypatch.setattr("skdp.training.mlp_gradients.record_norm", lambda norm, *_: 100 * norm)
        assert any("input moved by" in sentence for sentence in self.found())

    def test_division_by_the_number_of_records_that_are_not_null(self, monkeypatch):
        true, gone = DenseStep.release, []

        def divided(self, batch, rng):
            here = batch.rows[batch.rows != 0] if gone else batch.rows
            return true(self, batch, rng) / max(1, len(here))

        @contextmanager
        def without_the_record():
            gone.append(True)
            with null_network_record():
                yield

        monkeypatch.setattr(DenseStep, "release", divided)
        data, _ = pair("random")
        found = violations(make(), data, data, around_neighbour=without_the_record)
        assert "attribute coefs_ changed" in found

    def test_rows_that_are_dropped_because_of_their_values(self, monkeypatch):
        """The batch then has another shape, and the others other places."""
        true = MlpGradients._add

        def dropping(self, rows, layers, limit, sums):
            true(self, rows[self._squared_norms[rows] < 1e10], layers, limit, sums)

        monkeypatch.setattr(MlpGradients, "_add", dropping)
        rng = np.random.default_rng(1)
        X, y = rng.normal(size=(300, 90)), rng.integers(2, size=300)
        other = X.copy()
        other[0] = 1e10
        sampling = ShuffledBatches(300, 300, Neighbours.REPLACE_ONE)
        model = make(sampling=sampling, hidden_layer_sizes=(65,), n_epochs=1)
        shapes = []
        outputs = MlpGradients._slopes

        def watched(self, scores, rows):
            shapes.append(scores.shape)
            return outputs(self, scores, rows)

        monkeypatch.setattr(MlpGradients, "_slopes", watched)
        violations(model, (X, y), (other, y))
        assert len(set(shapes)) == 2


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("hidden", [(), (4,)])
def test_duplicate_entries_whose_sum_overflows_move_no_more_than_one_record(dtype, hidden):
    """0 times an infinite entry is NaN, which would erase the sum over all other records."""
    largest = np.finfo(dtype).max
    X = sp.csr_array(
        (np.r_[[largest, largest], np.ones(N - 1)].astype(dtype), np.zeros(N + 1, dtype=int),
         np.r_[0, 2 + np.arange(N)]), shape=(N, 2),
    )  # fmt: skip
    y = np.arange(N) % 2
    model = make(hidden_layer_sizes=hidden, sampling="full")
    assert violations(model, (X, y), (X, y), around_neighbour=null_network_record) == []
    assert np.isfinite(model.fit(X, y).coefs_[0]).all()


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_rows_that_are_not_finite_add_nothing_and_spoil_nothing(storage):
    from skdp.objectives import Logistic
    from skdp.training.mlp_activations import ACTIVATIONS
    from skdp.training.mlp_network import Network

    X = np.ones((3, 2))
    spoilt = X.copy()
    spoilt[0] = [np.inf, 1.0]
    network, rows = Network((2, 1), ACTIVATIONS["relu"]), np.arange(3)
    sums = [
        MlpGradients(storage(Z), np.ones(3), Logistic(), network).clipped_sum(
            np.full(3, 0.1), 1.0, which, max_norm=1.0, grid=2.0**-30
        )
        for Z, which in ((spoilt, rows), (X, rows[1:]))
    ]
    np.testing.assert_allclose(sums[0], sums[1], rtol=1e-6)
