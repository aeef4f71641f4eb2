"""Public random numbers within a search: neither they nor a generator tell of its trials."""

import random
import warnings
from inspect import signature

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.kernel_approximation import PolynomialCountSketch, RBFSampler
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection

from skdp.linear_model import PrivateElasticNetClassifier
from skdp.model_selection import PrivateGridSearchCV, strategies
from skdp.pipeline import make_private_pipeline
from skdp.pipeline.data_independent import DATA_INDEPENDENT
from skdp.preprocessing import PrivateStandardScaler

X = np.random.default_rng(0).normal(size=(60, 3)) / 2
Y = (X[:, 0] > 0).astype(int)

RANDOM = {
    GaussianRandomProjection: GaussianRandomProjection(2),
    PolynomialCountSketch: PolynomialCountSketch(n_components=4),
    RBFSampler: RBFSampler(gamma=1.0, n_components=4),
    SparseRandomProjection: SparseRandomProjection(2, density=1.0),
}
NESTED = {
    "columns": ColumnTransformer(
        [("first", GaussianRandomProjection(2), [0, 1])],
        remainder=RBFSampler(gamma=1.0, n_components=2),
        sparse_threshold=0,
    ),
    "union": FeatureUnion(
        [("one", GaussianRandomProjection(2)), ("two", GaussianRandomProjection(2))]
    ),
    "steps": Pipeline([("inner", Pipeline([("innermost", GaussianRandomProjection(2))]))]),
}


def seeded_by(state):
    """All steps, whose seeds are of a kind."""
    steps = {kind.__name__: clone(step) for kind, step in RANDOM.items()}
    for step in steps.values():
        step.set_params(random_state=state)
    return steps


def states():
    kind, words, *rest = np.random.get_state()  # noqa: NPY002  (that one is watched)
    return (kind, words.tobytes(), *rest), random.getstate()


def searched(first, number, monkeypatch, wrap=make_pipeline, **given):
    """Return a seeded search of so many trials, and whether common generators were left alone."""
    model = wrap(clone(first), PrivateElasticNetClassifier(classes=[0, 1]))
    grid = {"privateelasticnetclassifier__alpha": [0.1, 1.0]}
    search = PrivateGridSearchCV(model, grid, epsilon=2.0, random_state=3, **given)
    before = states()
    with monkeypatch.context() as patch, warnings.catch_warnings(action="ignore"):
        patch.setattr(strategies.TrialLaw, "survivals", lambda self: np.full(number, 2.0))
        search.fit(X, Y)
    return search, states() == before


def drawn(step):
    """Return the seeds and the random numbers of all parts, in their order."""
    names = ("components_", "indexHash_", "random_weights_", "random_state")
    own = [np.asarray(getattr(step, name)).tolist() for name in names if hasattr(step, name)]
    held = ("steps", "transformer_list", "transformers_")
    parts = [part[1] for name in held for part in getattr(step, name, ())]
    return own + [numbers for part in parts for numbers in drawn(part)]


def test_every_accepted_class_that_draws_is_tried():
    drawing = {kind for kind in DATA_INDEPENDENT if "random_state" in signature(kind).parameters}
    assert drawing == set(RANDOM)


@pytest.mark.parametrize("strategy", ["random", "exponential"])
@pytest.mark.parametrize(
    "first",
    [*seeded_by(None).values(), *NESTED.values()],
    ids=[*seeded_by(None), *NESTED],
)
def test_common_generators_do_not_count_the_trials(first, strategy, monkeypatch):
    for number in (0, 4):
        search, left_alone = searched(first, number, monkeypatch, strategy=strategy)
        assert left_alone
        seeds = {
            name: value
            for name, value in search.best_estimator_.get_params().items()
            if name.endswith("random_state") and "elasticnet" not in name
        }
        assert seeds
        assert all(isinstance(seed, int) for seed in seeds.values())
        assert len(set(seeds.values())) == len(seeds)
        assert search.best_estimator_[-1].random_state is None


@pytest.mark.parametrize("first", [RANDOM[GaussianRandomProjection], *NESTED.values()])
def test_the_winners_random_numbers_do_not_tell_which_trial_it_was(first, monkeypatch):
    """Of no trial it is the fit on made-up rows, of one the first, of five any of them."""
    by_place = {}
    for number in (0, 1, 5):
        search, _ = searched(first, number, monkeypatch)
        numbers = drawn(search.best_estimator_[0])
        alpha = search.best_params_["privateelasticnetclassifier__alpha"]
        assert numbers
        assert by_place.setdefault(alpha, numbers) == numbers


@pytest.mark.parametrize("first", [RANDOM[RBFSampler]])
def test_a_private_pipeline_within_a_search_is_treated_alike(first, monkeypatch):
    def wrap(*steps):
        scaler = PrivateStandardScaler((-5.0, 5.0), neighbours="replace-one", delta=0.0)
        return make_private_pipeline(steps[0], scaler, steps[1], delta=0.0)

    search, left_alone = searched(first, 4, monkeypatch, wrap)
    assert left_alone
    assert isinstance(search.best_estimator_[0].random_state, int)
    assert [step.random_state for step in search.best_estimator_[1:]] == [None, None]


def test_a_generator_of_the_user_stays_as_it_was_and_does_not_leave(monkeypatch):
    state = np.random.RandomState(5)
    fresh = np.random.RandomState(5).get_state()[1]
    for first in seeded_by(state).values():
        search, _ = searched(first, 3, monkeypatch)
        np.testing.assert_array_equal(state.get_state()[1], fresh)
        assert first.random_state is state
        assert isinstance(search.best_estimator_[0].random_state, int)


def test_an_integer_of_the_user_is_kept(monkeypatch):
    search, _ = searched(GaussianRandomProjection(2, random_state=11), 2, monkeypatch)
    assert search.best_estimator_[0].random_state == 11


def test_candidates_that_are_whole_steps_are_given_seeds_too():
    last = PrivateElasticNetClassifier(classes=[0, 1])
    model = Pipeline([("map", GaussianRandomProjection(2)), ("model", last)])
    grid = {"map": [GaussianRandomProjection(2), RBFSampler(gamma=1.0, n_components=2)]}
    before = states()
    search = PrivateGridSearchCV(model, grid, epsilon=2.0).fit(X, Y)
    assert states() == before
    assert isinstance(search.best_estimator_[0].random_state, int)
    assert grid["map"][0].random_state is None
