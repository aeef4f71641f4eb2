"""Record and replay of PrivatePCA, alone and before a classifier that is trained privately."""

import itertools
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline

from skdp.decomposition import PrivatePCA, private_pca
from skdp.decomposition.second_moment import SecondMoment
from skdp.linear_model import PrivateElasticNetClassifier, SparseDPSGDClassifier
from skdp.mechanisms.row_sum import RowSum
from tests.support.private_sgd import null_record, reference_steps
from tests.support.replay import violations

N, D = 12, 4
KINDS = ("random", "opposite", "orthogonal", "huge", "tiny", "alone")
RELATIONS = ("zero-out", "replace-one")
CENTRES = (None, 0.5, (0.1, -3.0, 2.0, 1e200))


def pair(kind, relation, centre=None, seed=0):
    """Two matrices that differ in row 0; under zero-out it becomes the centre, whose share is 0."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D))
    if kind == "alone":
        X[1:] = 0.0
    other = X.copy()
    other[0] = rng.normal(size=D)
    if kind == "opposite":
        other[0] = -X[0]
    if kind == "orthogonal":
        X[0], other[0] = 9.0 * np.eye(D)[:2]
    if kind == "huge":
        X[0] = 1.7e308 * np.array([1.0, -1.0, 1.0, -1.0])
    if kind == "tiny":
        X[0], other[0] = 1e-300, -1e-200
    if relation == "zero-out":
        other[0] = 0.0 if centre is None else centre
    return X, other


@pytest.mark.parametrize("relation", RELATIONS)
def test_neighbours_differ_in_the_release_alone(relation):
    for kind, centre, row_norm in itertools.product(KINDS, CENTRES, (0.01, 1.0, 20.0)):
        X, other = pair(kind, relation, centre)
        model = PrivatePCA(2, row_norm=row_norm, center=centre, neighbours=relation)
        assert violations(model, (X,), (other,)) == [], (kind, centre, row_norm)


@contextmanager
def null_row():
    """Row 0 adds nothing to any sum, whatever the centre is."""
    true = private_pca.centred_blocks

    def without(X, centre, row_norm):
        for block in true(X, centre, row_norm):
            block[0] = 0.0  # of the only block
            yield block

    private_pca.centred_blocks = without
    try:
        yield
    finally:
        private_pca.centred_blocks = true


@pytest.mark.parametrize("relation", RELATIONS)
def test_nor_does_a_centre_that_is_released_show_anything(relation):
    for kind, norms in itertools.product(KINDS, ((1.0, 5.0), (3.0, 0.1), (0.02, 1e20))):
        X, other = pair(kind, "replace-one")
        model = PrivatePCA(
            2, center="private", row_norm=norms[0], center_norm=norms[1], neighbours=relation
        )
        if relation == "zero-out":
            assert violations(model, (X,), (X,), around_neighbour=null_row) == [], (kind, norms)
        else:
            assert violations(model, (X,), (other,)) == [], (kind, norms)


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array, np.float32])
@pytest.mark.parametrize("relation", RELATIONS)
def test_containers_change_nothing_about_it(relation, container):
    for kind in KINDS:
        data = pair(kind, relation)
        if container is np.float32:
            data = np.clip(data, -1e38, 1e38)
        X, other = (container(rows) for rows in data)
        assert violations(PrivatePCA(2, neighbours=relation), (X,), (other,)) == [], kind


@pytest.mark.parametrize("seed", range(5))
def test_in_a_pipeline_a_null_record_shows_in_nothing_but_the_releases(seed):
    """The classifier sees what the null row is mapped to; its gradient is taken out."""
    (X, other), y = pair("random", "zero-out", seed=seed), np.arange(N) % 2
    model = make_pipeline(
        PrivatePCA(2, epsilon=0.7, delta=1e-3, random_state=1),
        SparseDPSGDClassifier(
            epsilon=2.0, delta=1e-3, n_epochs=2, batch_size=5, classes=(0, 1), random_state=seed
        ),
    )
    with reference_steps():
        assert fitted_violations(model, (X, y), (other, y), null_record) == []


@pytest.mark.parametrize("kind", KINDS)
def test_in_a_pipeline_a_replaced_record_shows_in_nothing_but_the_releases(kind):
    (X, other), y = pair(kind, "replace-one"), np.arange(N) % 2
    model = make_pipeline(
        PrivatePCA(2, delta=1e-3, neighbours="replace-one"),
        PrivateElasticNetClassifier(delta=1e-3, alpha=0.5, classes=(0, 1)),
    )
    assert fitted_violations(model, (X, y), (other, y)) == []


def fitted_violations(pipeline, data, neighbour, around=None):
    """As `violations`, of what the steps hold and not of the steps themselves."""
    around = {} if around is None else {"around_neighbour": around}
    return violations(Spread(pipeline), data, neighbour, **around)


class Spread:
    """A pipeline that, fitted, has the attributes of all its steps."""

    def __init__(self, pipeline):
        self.pipeline = pipeline

    def __sklearn_clone__(self):
        return Spread(self.pipeline)

    def get_params(self, deep=True):
        return {"pipeline": self.pipeline}

    def fit(self, *data):
        from sklearn.base import clone

        fitted = clone(self.pipeline).fit(*data)
        for name, step in fitted.steps:
            own = step.get_params(deep=False)
            vars(self).update({f"{name}.{k}": v for k, v in vars(step).items() if k not in own})


class TestPlantedBugs:
    """What replay must see. Two orthogonal long rows attain the sensitivity of replace-one."""

    def found(self, relation="replace-one", **parameters):
        X, other = pair("orthogonal", relation, parameters.get("center"))
        return violations(PrivatePCA(2, neighbours=relation, **parameters), (X,), (other,))

    def test_without_a_bug_there_is_nothing(self):
        assert self.found() == self.found("zero-out") == self.found(center=9.0) == []

    def test_half_the_sensitivity(self, monkeypatch):
        true = SecondMoment.sensitivity.fget

        def half(self):
            whole = true(self)
            return type(whole)(whole.value / 2, whole.norm, whole.neighbours)

        monkeypatch.setattr(SecondMoment, "sensitivity", property(half))
        assert self.found() == self.found("zero-out") == ["an input moved by 2.000 x its bound"]

    def test_half_the_sensitivity_of_the_centre(self, monkeypatch):
        true = RowSum.sensitivity.fget

        def half(self):
            whole = true(self)
            return type(whole)(whole.value / 2, whole.norm, whole.neighbours)

        X, other = pair("opposite", "replace-one")
        data = ((9 * X,), (9 * other,))
        model = PrivatePCA(2, center="private", neighbours="replace-one")
        assert violations(model, *data) == []
        monkeypatch.setattr(RowSum, "sensitivity", property(half))
        (sentence,) = violations(model, *data)
        assert "an input moved by 1.9" in sentence or "an input moved by 2.0" in sentence

    def test_a_centre_that_is_not_released(self, monkeypatch):
        from skdp.decomposition.releases import AroundReleasedCentre

        def exact(self, blocks, rng):
            centre = self.total.vector(blocks(None, self.total.row_norm)) / N
            moment = self.moment.vector(blocks(centre, self.moment.row_norm))
            return np.zeros(D), self.moment.matrix(self.mechanism.release(moment, rng))

        monkeypatch.setattr(AroundReleasedCentre, "release", exact)
        X, other = np.zeros((2, N, D))
        X[0, 0] = other[0, 1] = 9.0
        model = PrivatePCA(2, center="private", center_norm=9.0, row_norm=0.1)
        (sentence,) = violations(model.set_params(neighbours="replace-one"), (X,), (other,))
        assert f"an input moved by {N}.0" in sentence

    def test_replace_one_at_the_price_of_zero_out(self, monkeypatch):
        import skdp.decomposition.second_moment as module

        monkeypatch.setattr(module, "_DISTANCES", dict.fromkeys(module._DISTANCES, 1.0))
        assert self.found() == ["an input moved by 1.414 x its bound"]
        assert self.found("zero-out") == []

    def test_a_triangle_that_is_scaled_by_2_in_place_of_its_root(self, monkeypatch):
        import skdp.mechanisms.triangle as module

        monkeypatch.setattr(module, "_SQRT2", 2.0)
        X = np.ones((N, D))
        other = X.copy()
        other[0] = 0.0
        (sentence,) = violations(PrivatePCA(2), (X,), (other,))
        assert "an input moved by 1.3" in sentence

    @pytest.mark.parametrize("planted", ["not clipped", "clipped before they are centred"])
    def test_rows_that_are(self, planted, monkeypatch):
        import skdp.decomposition.private_pca as module

        true = module.centred_blocks

        def wrong(X, centre, row_norm):
            if planted == "not clipped":
                return true(X, centre, 1e30)
            (rows,) = true(X, None, row_norm)
            return true(rows, centre, 1e30)

        monkeypatch.setattr(module, "centred_blocks", wrong)
        (sentence,) = self.found(center=2.0)
        assert "an input moved by" in sentence

    def test_a_centre_that_is_the_mean_of_the_rows(self, monkeypatch):
        monkeypatch.setattr(PrivatePCA, "_admitted_centre", lambda self, X: X.mean(axis=0))
        assert "attribute mean_ changed" in self.found()

    def test_a_variance_of_the_exact_matrix(self, monkeypatch):
        true = SecondMoment.vector

        def kept(self, blocks):
            kept.exact = true(self, blocks)
            return kept.exact

        fit = PrivatePCA.fit

        def leaky(self, X, y=None):
            fit(self, X, y)
            self.explained_variance_ = kept.exact[: self.n_components_]
            return self

        monkeypatch.setattr(SecondMoment, "vector", kept)
        monkeypatch.setattr(PrivatePCA, "fit", leaky)
        assert "attribute explained_variance_ changed" in self.found()

    def test_components_that_are_dropped_by_what_the_data_say(self, monkeypatch):
        true = PrivatePCA._admitted_n_components

        def by_rank(self, n_features):
            return min(true(self, n_features), self._rank)

        fit = PrivatePCA.fit

        def peeking(self, X, y=None):
            PrivatePCA._rank = int(X[0, 0] > 1) + 1
            return fit(self, X, y)

        monkeypatch.setattr(PrivatePCA, "_rank", 2, raising=False)
        monkeypatch.setattr(PrivatePCA, "_admitted_n_components", by_rank)
        monkeypatch.setattr(PrivatePCA, "fit", peeking)
        assert "attribute n_components_ changed" in self.found()
