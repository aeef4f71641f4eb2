"""Record and replay of the linear models that plan themselves, and their bounds by brute force."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from skdp.linear_model import PrivateLinearClassifier, PrivateLinearRegressor, private_linear_model
from skdp.linear_model.linear_baseline import ClassShares, LabelMean
from skdp.mechanisms.label_moments import LabelMoments
from skdp.mechanisms.row_statistics import RowStatistics
from skdp.privacy import Neighbours, PrivacyBudget, Sensitivity
from skdp.training import descent, standardise
from skdp.training.glm import GlmGradients
from skdp.training.standardise import Preparation
from tests.contracts.test_ridge_replay import corners
from tests.support.replay import violations

N, D = 40, 3
RELATIONS = ("add-or-remove-one", "zero-out", "replace-one")
KINDS = ("random", "opposite", "outlier", "lone", "orthogonal", "huge", "tiny")
CHOICES = (
    (0.01, "descent", 30.0),
    (5.0, "descent", 0.5),
    (5.0, "descent", 30.0),
    (5.0, "baseline", 1.0),
)


def pair(kind, relation, n_classes=0, seed=0):
    """Two data sets that differ in row 0, which is missing in the second under add-or-remove."""
    rng = np.random.default_rng(seed)
    X = 3 * rng.normal(size=(N, D))
    y = np.arange(N) % n_classes if n_classes else rng.normal(size=N)
    other, labels = X.copy(), y.copy()
    other[0] = 9 * rng.normal(size=D)
    labels[0] = 1 if n_classes else -9 * y[0]
    if kind == "opposite":
        X[0] *= 9
        other[0] = -X[0]
    if kind == "outlier":
        X[1:] *= 0.05
        other[1:] *= 0.05
        X[0] = other[0] = 9 * np.eye(D)[0]
    if kind in ("orthogonal", "lone"):
        X[0], other[0] = 9 * np.eye(D)[:2]
    if kind == "lone":
        X[1:] *= 0.05
        other[1:] *= 0.05
    if kind == "huge":
        X[0] = 1.7e308 * np.array([1.0, -1.0, 1.0])
    if kind == "tiny":
        X[0], other[0] = 1e-300, -1e-200
    if relation == "add-or-remove-one":
        other, labels = other[1:], labels[1:]
    return (X, y), (other, labels)


def models(relation, n_classes):
    for row_norm, mechanism, epsilon in CHOICES:
        given = {
            "epsilon": epsilon,
            "delta": 1e-3,
            "row_norm": row_norm,
            "mechanism": mechanism,
            "neighbours": relation,
            "expected_samples": 37 if relation == "add-or-remove-one" else None,
        }
        if n_classes:
            yield PrivateLinearClassifier(
                classes=range(n_classes), probability_correction="clipping", **given
            )
        else:
            yield PrivateLinearRegressor(y_bound=0.5, **given)


@pytest.mark.parametrize("n_classes", [0, 2, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
def test_neighbours_differ_in_the_release_alone(relation, n_classes):
    for kind in KINDS:
        data, neighbour = pair(kind, relation, n_classes)
        for model in models(relation, n_classes):
            assert violations(model, data, neighbour) == [], (kind, model)


def test_so_it_is_where_records_are_sampled(monkeypatch):
    monkeypatch.setattr(descent, "_LARGEST_FULL", 0)
    monkeypatch.setattr(descent, "_LARGEST_RATE", 0.9)
    data, neighbour = pair("opposite", "replace-one", 2)
    model = PrivateLinearClassifier(
        neighbours="replace-one", mechanism="descent", delta=1e-3, random_state=0, epsilon=0.2,
        probability_correction="noise",
    )  # fmt: skip
    assert violations(model, data, neighbour) == []
    assert model.fit(*data).privacy_.to_dict()["theorem"].count("Poisson")


@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
def test_so_it_is_for_moments(relation):
    expected = 37 if relation == "add-or-remove-one" else None
    model = PrivateLinearRegressor(
        mechanism="ridge", neighbours=relation, delta=1e-3, expected_samples=expected
    )
    for kind in KINDS:
        assert violations(model, *pair(kind, relation)) == [], kind


@pytest.mark.parametrize("container", [sp.csr_array, np.float32])
@pytest.mark.parametrize("wide", [False, True])
def test_containers_change_nothing_about_it(container, wide, monkeypatch):
    if wide:  # sparse rows stay sparse
        monkeypatch.setattr(private_linear_model, "DENSE_COLUMNS", 1)
    kinds, relations = ("opposite", "tiny"), ("add-or-remove-one", "replace-one")
    for kind, relation in itertools.product(kinds, relations):
        (X, y), (other, labels) = pair(kind, relation, 2)
        for model in models(relation, 2):
            data, neighbour = (container(X), y), (container(other), labels)
            assert violations(model, data, neighbour) == [], (kind, model)


# Bounds by brute force ---------------------------------------------------------------------------


def farthest(statistics, tries=4000, seed=0):
    """The largest distance of two vectors that one row is the difference of."""
    rng = np.random.default_rng(seed)
    rows = corners(rng, 2 * tries, 2).reshape(tries, 2, 2)
    rows[::3, 1] = -rows[::3, 0] * rng.random((len(rows[::3]), 1)) ** 0.2
    labels = rng.choice([-1.0, 1.0, 0.5, -0.9], size=(tries, 2))
    labels[::3, 1] = -labels[::3, 0]
    replaced = statistics.neighbours is Neighbours.REPLACE_ONE
    empty = statistics.vector([])

    def vector(row, label):
        return statistics.vector([(row[None], np.array([label]))])

    return max(
        np.linalg.norm(vector(r[0], t[0]) - (vector(r[1], t[1]) if replaced else empty))
        for r, t in zip(rows, labels, strict=True)
    )


@pytest.mark.parametrize(("n_features", "label_moments"), [(2, 0), (2, 1), (2, 2), (0, 1)])
@pytest.mark.parametrize("relation", RELATIONS)
def test_the_bound_of_the_statistics_holds_and_is_attained(relation, n_features, label_moments):
    statistics = RowStatistics(n_features, label_moments, Neighbours(relation))
    share = farthest(statistics) / statistics.sensitivity.value
    assert 0.99 < share <= 1


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_bound_without_sums_of_rows_holds_and_is_attained(relation):
    statistics = RowStatistics(0, 0, Neighbours(relation))
    rows = np.array([[1.0, 0.0], [0.0, 0.0]])
    one, none = (statistics.vector([(row[None], None)]) for row in rows)
    assert 0.999 < abs(one - none).item() / statistics.sensitivity.value <= 1


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_bound_of_moments_without_labels_holds_and_is_attained(relation):
    moments = LabelMoments(2, 0, None, 1.0, -1.0, False, Neighbours(relation))
    rng = np.random.default_rng(0)
    empty = moments.vector([])
    shares = []
    for _ in range(2000):
        rows = corners(rng, 2, 2)
        first, second = (moments.vector([(row[None], np.zeros((1, 0)))]) for row in rows)
        other = second if relation == "replace-one" else empty
        shares.append(np.linalg.norm(first - other) / moments.sensitivity.value)
    assert 0.99 < max(shares) <= 1


def test_sums_are_those_of_whole_numbers_in_any_order():
    rng = np.random.default_rng(1)
    rows, labels = corners(rng, 3000, 4), rng.uniform(-1, 1, size=3000)
    statistics = RowStatistics(4, 2, Neighbours.ZERO_OUT)
    cut = np.trunc(rows * 2**20) / 2**20, np.trunc(labels * 2**20) / 2**20
    found = statistics.read(
        statistics.vector([(rows[i : i + 700], labels[i : i + 700]) for i in range(0, 3000, 700)])
    )
    places = np.arange(3000)[::-1].reshape(3, 1000)
    backwards = statistics.vector([(rows[part], labels[part]) for part in places])
    assert np.array_equal(statistics.read(backwards).rows, found.rows)
    np.testing.assert_allclose(found.rows, cut[0].sum(axis=0), rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.squared_norms, (cut[0] ** 2).sum(), rtol=1e-12)
    np.testing.assert_allclose(found.labels, [cut[1].sum()], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.squared_labels, [(cut[1] ** 2).sum()], rtol=1e-12)


@pytest.mark.parametrize(
    ("relation", "label", "count"), [("zero-out", 1, 1), ("replace-one", 2, 2**0.5)]
)
def test_the_baselines_move_by_what_they_say(relation, label, count):
    relation, budget = Neighbours(relation), PrivacyBudget(1.0, 1e-3)
    shares = ClassShares.planned(3, relation, budget).mechanism
    mean = LabelMean.planned(10, relation, budget).mechanism
    assert shares.sensitivity.value == pytest.approx(count, rel=1e-12)
    assert mean.sensitivity.value == label


class TestPlantedBugs:
    """What replay must see."""

    def found(self, relation="replace-one", kind="opposite", n_classes=2, **parameters):
        data, neighbour = pair(kind, relation, n_classes)
        expected = 37 if relation == "add-or-remove-one" else None
        given = {
            "mechanism": "descent",
            "neighbours": relation,
            "expected_samples": expected,
            "delta": 1e-3,
            "epsilon": 30.0,
            "random_state": 8,
            **parameters,
        }
        model = PrivateLinearClassifier(**given) if n_classes else PrivateLinearRegressor(**given)
        return violations(model, data, neighbour)

    def test_without_a_bug_there_is_nothing(self):
        assert self.found() == self.found("add-or-remove-one") == self.found(n_classes=0) == []

    @pytest.mark.parametrize("part", [RowStatistics, LabelMoments])
    def test_half_the_sensitivity_of_a_first_release(self, part, monkeypatch):
        true = part.sensitivity.fget
        monkeypatch.setattr(
            part,
            "sensitivity",
            property(lambda self: Sensitivity(true(self).value / 2, "l2", self.neighbours)),
        )
        found = self.found(kind="orthogonal")
        assert any("an input moved by" in sentence for sentence in found)

    def test_gradients_that_are_clipped_to_twice_their_norm(self, monkeypatch):
        true = GlmGradients.clipped_sum

        def wide(self, values, scale, rows, *, max_norm, grid):
            return true(self, values, scale, rows, max_norm=2 * max_norm, grid=grid)

        monkeypatch.setattr(GlmGradients, "clipped_sum", wide)
        found = self.found(kind="outlier")
        assert any("an input moved by" in sentence for sentence in found)

    def test_rows_that_are_not_clipped(self, monkeypatch):
        monkeypatch.setattr(private_linear_model, "unit_rows", lambda X, row_norm: X / row_norm)
        assert any("an input moved by" in sentence for sentence in self.found(row_norm=0.5))

    def test_second_moments_of_rows_that_are_not_clipped(self, monkeypatch):
        monkeypatch.setattr(standardise, "clip_rows", lambda X, row_norm: X)
        monkeypatch.setattr(
            private_linear_model,
            "unit_rows",
            lambda X, row_norm: np.clip(X / row_norm / 20, -0.5, 0.5),
        )
        assert any("an input moved by" in sentence for sentence in self.found())

    def test_labels_that_are_not_clipped(self, monkeypatch):
        from skdp.linear_model import private_linear_regression

        monkeypatch.setattr(private_linear_regression.np, "clip", lambda values, low, high: values)
        assert any("an input moved by" in s for s in self.found(n_classes=0, y_bound=0.01))

    def test_a_centre_that_was_not_released(self, monkeypatch):
        true = Preparation.release

        def exact(self, X, labels, rng):
            standard, label = true(self, X, labels, rng)
            moved = type(standard)(X.mean(axis=0), standard.scale, standard.matrix)
            return moved, label

        monkeypatch.setattr(Preparation, "release", exact)
        found = self.found()
        assert any("attribute" in sentence or "moved" in sentence for sentence in found)

    def test_a_number_of_rows_that_is_private(self, monkeypatch):
        true = private_linear_model.PrivateLinearModel._facts

        def counted(self, X, task):
            from dataclasses import replace

            return replace(true(self, X, task), n_records=X.shape[0])

        monkeypatch.setattr(private_linear_model.PrivateLinearModel, "_facts", counted)
        assert self.found("add-or-remove-one") != []

    def test_a_product_that_depends_on_the_other_rows(self, monkeypatch):
        """What row_products is for: a shifted row is computed as it was."""
        rng = np.random.default_rng(0)
        rows, matrix = rng.normal(size=(1000, 57)), rng.normal(size=(57, 57))
        whole = standardise.row_products(rows, matrix)
        assert np.array_equal(standardise.row_products(rows[1:], matrix), whole[1:])
        assert np.array_equal(standardise.row_products(rows[5:6], matrix), whole[5:6])
