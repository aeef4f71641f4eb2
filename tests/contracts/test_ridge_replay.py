"""Record and replay of the ridge models, and the bound of their moments against brute force."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from skdp.linear_model import PrivateRidge, PrivateRidgeClassifier, ridge_model
from skdp.mechanisms.label_moments import ExactSums, LabelMoments, whole_numbers
from skdp.privacy import Neighbours
from tests.support.replay import violations

N, D = 12, 3
RELATIONS = ("add-or-remove-one", "zero-out", "replace-one")
KINDS = ("random", "opposite", "orthogonal", "huge", "tiny")


def pair(kind, relation, seed=0, n_classes=None):
    """Two data sets that differ in row 0; it is missing, or null, in the second one."""
    rng = np.random.default_rng(seed)
    X = 3 * rng.normal(size=(N, D))
    y = rng.normal(size=N) if n_classes is None else np.arange(N) % n_classes
    other, labels = X.copy(), y.copy()
    other[0] = 9 * rng.normal(size=D)
    labels[0] = -y[0] if n_classes is None else 1
    if kind == "opposite":
        X[0] *= 9
        other[0] = -X[0]
    if kind == "orthogonal":
        X[0], other[0] = 9 * np.eye(D)[:2]
    if kind == "huge":
        X[0] = 1.7e308 * np.array([1.0, -1.0, 1.0])
    if kind == "tiny":
        X[0], other[0] = 1e-300, -1e-200
    if relation == "add-or-remove-one":
        other, labels = other[1:], labels[1:]
    return (X, y), (other, labels)


def models(relation, n_classes):
    choices = itertools.product((0.01, 1.0, 20.0), (True, False), ("floor", "adassp"))
    for row_norm, fit_intercept, shrinkage in choices:
        given = {
            "row_norm": row_norm,
            "fit_intercept": fit_intercept,
            "shrinkage": shrinkage,
            "neighbours": relation,
            "delta": 1e-3,
        }
        if n_classes is None:
            yield PrivateRidge(y_bound=0.5, **given)
        else:
            yield PrivateRidgeClassifier(classes=range(n_classes), **given)


@pytest.mark.parametrize("n_classes", [None, 2, 4])
@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
def test_neighbours_differ_in_the_release_alone(relation, n_classes):
    for kind in KINDS:
        data, neighbour = pair(kind, relation, n_classes=n_classes)
        for model in models(relation, n_classes):
            assert violations(model, data, neighbour) == [], (kind, model)


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array, np.float32])
@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
def test_containers_change_nothing_about_it(relation, container):
    for kind in ("random", "opposite", "orthogonal", "tiny"):
        (X, y), (other, labels) = pair(kind, relation)
        model = PrivateRidge(neighbours=relation)
        assert violations(model, (container(X), y), (container(other), labels)) == [], kind


def test_nor_do_several_outputs():
    for kind, relation in itertools.product(KINDS, ("add-or-remove-one", "replace-one")):
        (X, y), (other, labels) = pair(kind, relation)
        model = PrivateRidge(neighbours=relation, y_bound=0.3)
        data = X, np.column_stack([y, -3 * y])
        neighbour = other, np.column_stack([labels, -3 * labels])
        assert violations(model, data, neighbour) == [], kind


def test_a_null_row_of_zero_out_moves_the_moments_by_no_more():
    """It takes its constant along, which no row of X can express."""
    moments = LabelMoments(D, 1, 0.25, 1.0, -1.0, True, Neighbours.ZERO_OUT)
    rng = np.random.default_rng(0)
    for _ in range(100):
        rows, labels = corners(rng, 3, D), rng.choice([-1.0, 1.0], size=(3, 1))
        moved = moments.vector([(rows, labels)]) - moments.vector([(rows[1:], labels[1:])])
        assert np.linalg.norm(moved) <= moments.sensitivity.value


def corners(rng, n, d):
    """Unit vectors: random ones, axes, and shorter ones among them."""
    rows = rng.normal(size=(n, d))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) * (1 + 2.0**-40)
    axes = np.eye(d)[rng.integers(d, size=n)] * rng.choice([-1, 1], size=(n, 1))
    rows = np.where(rng.random((n, 1)) < 0.5, rows, axes)
    return rows * np.where(rng.random((n, 1)) < 0.2, rng.random((n, 1)), 1.0)


def farthest(moments, labels, seed=0, tries=3000):
    """The largest distance of two vectors that one row is the difference of."""
    rng = np.random.default_rng(seed)
    rows = corners(rng, 2 * tries, moments.n_features).reshape(tries, 2, -1)
    angles = np.linspace(0, np.pi, tries)
    if moments.n_features >= 2:  # pairs at all angles
        rows[::2] = 0.0
        rows[::2, 0, 0] = rows[::2, 1, 0] = 1 - 2.0**-40
        rows[::2, 1, :2] *= 0
        rows[::2, 1, 0], rows[::2, 1, 1] = np.cos(angles[::2]), np.sin(angles[::2])
        rows[::2, 1] *= 1 - 2.0**-40
    chosen = labels[rng.integers(len(labels), size=(tries, 2))]
    empty = np.zeros_like(moments.vector([]))

    def vector(row, label):
        return moments.vector([(row[None], label[None])])

    replaced = moments.neighbours is Neighbours.REPLACE_ONE
    distances = [
        np.linalg.norm(vector(r[0], t[0]) - (vector(r[1], t[1]) if replaced else empty))
        for r, t in zip(rows, chosen, strict=True)
    ]
    return max(distances)


def label_sets():
    yield 1.0, -1.0, np.array([[-1.0], [1.0], [0.3]])
    k = 4
    codes = np.eye(k) - 1 / k
    yield float(np.sqrt(1 - 1 / k)), -1 / k - 2.0**-18, codes
    yield float(np.sqrt(2.0)), -2.0, np.array(list(itertools.product([-1.0, 1.0], repeat=2)))


@pytest.mark.parametrize("squares", [False, True])
@pytest.mark.parametrize("constant", [None, 0.25, 1.0, 2.0])
@pytest.mark.parametrize("relation", RELATIONS)
def test_the_bound_holds_for_brute_force_and_is_nearly_attained(relation, constant, squares):
    for norm, least, labels in label_sets():
        moments = LabelMoments(
            2, labels.shape[1], constant, norm, least, squares, Neighbours(relation)
        )
        share = farthest(moments, labels, tries=600) / moments.sensitivity.value
        assert share <= 1
        # The squares' part of a replaced row is bounded by itself.
        assert share > (0.97 if squares else 0.985), (norm, share)


def test_sums_are_those_of_whole_numbers():
    """Against integers of any size, with blocks that carry."""
    rng = np.random.default_rng(3)
    rows, labels = corners(rng, 3000, 2), rng.uniform(-1, 1, size=(3000, 1))
    moments = LabelMoments(2, 1, 0.3, 1.0, -1.0, True, Neighbours.ADD_OR_REMOVE_ONE)
    table = np.hstack(
        [whole_numbers(rows), np.full((3000, 1), whole_numbers(0.3)), whole_numbers(labels)]
    )
    exact = table.astype(int).astype(object)
    expected = (exact.T @ exact).astype(object)
    found = ExactSums.of(moments, [(rows[:1], labels[:1]), (rows[1:], labels[1:])]).floats()
    assert all(
        abs(found[i, j] - expected[i, j] / 2**40) <= 2.0**-40 for i in range(4) for j in range(4)
    )


class TestPlantedBugs:
    """What replay must see."""

    def found(self, relation="replace-one", kind="orthogonal", **parameters):
        data, neighbour = pair(kind, relation)
        return violations(PrivateRidge(neighbours=relation, **parameters), data, neighbour)

    def test_without_a_bug_there_is_nothing(self):
        assert self.found() == self.found("add-or-remove-one") == []

    def test_half_the_sensitivity(self, monkeypatch):
        true = LabelMoments.sensitivity.fget

        def half(self):
            whole = true(self)
            return type(whole)(whole.value / 2, whole.norm, whole.neighbours)

        monkeypatch.setattr(LabelMoments, "sensitivity", property(half))
        for relation in ("replace-one", "add-or-remove-one"):
            (sentence,) = self.found(relation)
            assert "an input moved by 1." in sentence

    def test_a_relation_that_costs_too_little(self, monkeypatch):
        true = LabelMoments._moved

        def cheap(self):
            return true(type(self)(**{**vars(self), "neighbours": Neighbours.ZERO_OUT}))

        monkeypatch.setattr(LabelMoments, "_moved", cheap)
        assert self.found("add-or-remove-one") == []
        (sentence,) = self.found()
        assert "an input moved by 1." in sentence

    @pytest.mark.parametrize("planted", ["rows", "labels"])
    def test_values_that_are_not_clipped(self, planted, monkeypatch):
        if planted == "rows":
            monkeypatch.setattr(ridge_model, "clip_rows", lambda X, row_norm: X)
        else:
            monkeypatch.setattr(PrivateRidge, "_coded", lambda self, y: y / self.y_bound)
        (sentence,) = self.found("add-or-remove-one", y_bound=0.01, row_norm=1.0)
        assert "an input moved by" in sentence

    def test_a_number_of_rows_that_was_not_released(self, monkeypatch):
        monkeypatch.setattr(PrivateRidge, "_known_number", lambda self, m, noisy, n: n)
        assert "attribute n_samples_ changed" in self.found("add-or-remove-one")

    def test_a_warning_about_a_private_number_of_rows(self, monkeypatch):
        true = PrivateRidge._announced

        def telling(self, mechanism, n_samples):
            self._warn_of_large_delta(n_samples, stacklevel=1)
            return true(self, mechanism, n_samples)

        monkeypatch.setattr(PrivateRidge, "_announced", telling)
        data, neighbour = pair("random", "add-or-remove-one")
        assert "warnings changed" in violations(PrivateRidge(delta=1 / 11.5), data, neighbour)

    def test_exact_sums_that_stay_in_the_model(self, monkeypatch):
        true = PrivateRidge._add

        def kept(self, sums, X, coded):
            true(self, sums, X, coded)
            self.sums_ = sums.floats()

        monkeypatch.setattr(PrivateRidge, "_add", kept)
        assert "attribute sums_ changed" in self.found()
