"""One list of selections, many properties; what they take in and give out."""

import dataclasses
import importlib
import inspect
import math
import pickle
import pkgutil
import tracemalloc

import numpy as np
import pytest
from scipy import stats

import skdp.mechanisms
from skdp._random import RandomSource
from skdp.mechanisms import (
    AdditiveMechanism,
    GridGaussianMechanism,
    Mechanism,
    Selection,
    SelectionMechanism,
    SparseSum,
)
from skdp.mechanisms.objective_perturbation import (
    GaussianObjectivePerturbation,
    L2LaplaceObjectivePerturbation,
)
from skdp.mechanisms.quantiles import QuantileMechanism
from skdp.mechanisms.stable_histogram import StableHistogram
from skdp.privacy.budget import Neighbours, Sensitivity
from tests.support.selections import HUGE, every_kind, top
from tests.support.sources import CountingSource

#: They are not exported, and have contracts and attacks of their own.
OF_ONE_ESTIMATOR = {
    GaussianObjectivePerturbation,
    L2LaplaceObjectivePerturbation,
    QuantileMechanism,
    StableHistogram,
}


def concrete_mechanisms():
    def below(cls):
        return {cls}.union(*map(below, cls.__subclasses__()))

    for module in pkgutil.walk_packages(skdp.mechanisms.__path__, "skdp.mechanisms."):
        importlib.import_module(module.name)
    return {
        cls
        for cls in below(Mechanism)
        if not inspect.isabstract(cls) and cls.__module__.startswith("skdp.")
    }


def test_no_public_mechanism_is_missing_from_a_list():
    selections = {cls for cls in concrete_mechanisms() if issubclass(cls, SelectionMechanism)}
    assert selections == {type(mechanism) for mechanism in top(6).values()}
    others = concrete_mechanisms() - selections - {GridGaussianMechanism} - OF_ONE_ESTIMATOR
    assert all(issubclass(cls, AdditiveMechanism) for cls in others)
    exported = {cls.__name__ for cls in concrete_mechanisms() - OF_ONE_ESTIMATOR}
    assert exported <= set(skdp.mechanisms.__all__)


# --- vectors and selections


def test_a_sparse_sum_is_the_vector_it_stands_for():
    array = np.array([[0.0, 2.0], [-1.0, 0.0]])
    value = SparseSum.from_dense(array)
    assert value.indices.tolist() == [1, 2]
    assert value.indices.dtype == np.int64
    assert value.toarray().tolist() == array.ravel().tolist()


def test_equality_and_copies_of_vectors_and_selections():
    value = SparseSum([1, 2], [3.0, 0.0], 5)
    assert value == value.copy()
    assert value != SparseSum([1, 2], [3.0, 1.0], 5)
    assert value != SparseSum([1, 3], [3.0, 0.0], 5)
    assert value != SparseSum([1, 2], [3.0, 0.0], 6)
    assert value != "a vector"
    assert not np.shares_memory(value.values, value.copy().values)
    assert not np.shares_memory(value.indices, value.copy().indices)
    with_values, without = Selection([0, 4], [1.0, 2.0]), Selection([0, 4], None)
    assert with_values == with_values.copy()
    assert without == without.copy()
    assert with_values != without
    assert without != with_values
    assert with_values != Selection([0, 4], [1.0, 3.0])
    assert without != Selection([0, 3], None)
    assert not np.shares_memory(with_values.values, with_values.copy().values)
    assert len(without) == 2
    with pytest.raises(TypeError):
        hash(value)


@pytest.mark.parametrize(
    ("indices", "values", "size"),
    [
        ([1, 1], [1.0, 2.0], 3),
        ([2, 1], [1.0, 2.0], 3),
        ([0, 3], [1.0, 2.0], 3),
        ([-1, 0], [1.0, 2.0], 3),
        ([0], [1.0, 2.0], 3),
        ([0.5], [1.0], 3),
        ([[0]], [[1.0]], 3),
        ([], [], 0),
    ],
)
def test_a_malformed_sparse_sum_is_refused(indices, values, size):
    with pytest.raises(ValueError, match=r"indices|values|size"):
        SparseSum(indices, values, size)


# --- what a selection is


@every_kind
def test_an_instance_is_a_public_frozen_value(kind):
    mechanism, again = top(6)[kind], top(6)[kind]
    mechanism.release(np.zeros(6), RandomSource.from_seed(0))
    assert again == mechanism
    assert hash(again) == hash(mechanism)
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism
    with pytest.raises(dataclasses.FrozenInstanceError):
        mechanism.size = 1


@every_kind
def test_the_guarantee_is_documented_and_its_theorem_has_a_source(kind):
    mechanism = top(6)[kind]
    assert "Guarantees\n    ----------" in type(mechanism).__doc__
    assert any(f"({year})" in mechanism.theorem for year in range(2000, 2030))


@every_kind
def test_wrong_parameters_are_refused(kind):
    mechanism = top(6)[kind]
    wrong = {"sensitivity": [Sensitivity(1.0, "l1", Neighbours.ZERO_OUT)], "size": [0, 2.5]}
    names = {field.name for field in dataclasses.fields(mechanism)}
    bad = {"n_selected": [0, 7, 1.5], "constants": ["other"]}
    bad |= {name: [0.0, -1.0, math.nan, math.inf] for name in ("noise_std", "eta", "epsilon")}
    bad["threshold"] = [math.nan, math.inf] + [-1.0] * (kind != "threshold")
    wrong |= {name: values for name, values in bad.items() if name in names}
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(ValueError, match=name):
                dataclasses.replace(mechanism, **{name: value})


# --- what is released


@every_kind
def test_a_selection_is_in_order_and_of_the_size_asked_for(kind):
    mechanism = top(400, 7)[kind]
    value = SparseSum([3, 20, 399], [50.0, 0.0, -40.0], 400)
    for seed in range(20):
        selected = mechanism.release(value, RandomSource.from_seed(seed))
        assert isinstance(selected, Selection)
        assert np.all(np.diff(selected.indices) > 0)
        assert selected.indices.min() >= 0
        assert selected.indices.max() < 400
        if kind in ("gaussian", "exponential", "noisy max"):
            assert len(selected) == 7
        if kind == "permute and flip":
            assert len(selected) == 1
        if "sparse" in kind:
            assert len(selected) <= 7
        if kind in ("gaussian", "numeric sparse"):
            assert np.array_equal(
                np.rint(selected.values / mechanism.grid) * mechanism.grid, selected.values
            )
            assert not np.signbit(selected.values[selected.values == 0]).any()
        else:
            assert selected.values is None


@every_kind
def test_a_dense_vector_is_taken_as_the_sparse_one_and_a_seed_repeats_the_draw(kind):
    mechanism = top(60, 3)[kind]
    dense = np.zeros((6, 10))
    dense[2, 3], dense[5, 1] = 4.0, -3.0
    first = mechanism.release(dense, RandomSource.from_seed(1))
    assert first == mechanism.release(SparseSum.from_dense(dense), RandomSource.from_seed(1))
    others = [mechanism.release(dense, RandomSource.from_seed(seed)) for seed in range(2, 30)]
    assert any(other != first for other in others)
    with pytest.raises(ValueError, match="60 elements"):
        mechanism.release(np.zeros(59), RandomSource.from_seed(1))


@every_kind
@pytest.mark.parametrize("extreme", [1e300, -math.inf, math.inf, 5e-324, math.nan])
def test_extreme_values_neither_warn_nor_raise(kind, extreme):
    mechanism = top(50, 3)[kind]
    with np.errstate(all="raise", under="ignore"):
        for listed in (1, 2, 50):
            value = SparseSum(np.arange(listed), np.full(listed, extreme), 50)
            selected = mechanism.release(value, RandomSource.from_seed(3))
            if abs(extreme) > 1 and listed == 1 and (extreme > 1 or kind != "threshold"):
                assert 0 in selected.indices
            if selected.values is not None:
                assert np.all(np.isfinite(selected.values))


@every_kind
@pytest.mark.parametrize("listed", [0, 1, 4, 5])
def test_every_coordinate_can_be_asked_for(kind, listed):
    mechanism = top(5, 5)[kind]
    value = SparseSum(np.arange(listed), np.full(listed, 2.0), 5)
    selected = mechanism.release(value, RandomSource.from_seed(4))
    if kind in ("gaussian", "exponential", "noisy max"):
        assert selected.indices.tolist() == [0, 1, 2, 3, 4]
    assert len(selected) <= 5


# --- laziness


def sparse_of(size, listed, seed=0):
    rng = np.random.default_rng(seed)
    indices = np.unique(rng.integers(size, size=listed))
    return SparseSum(indices, np.rint(rng.normal(size=indices.size) * 2.0**24) / 2.0**20, size)


@every_kind
def test_random_words_and_memory_do_not_grow_with_the_size(kind):
    used = []
    for size in (10**5, HUGE):
        mechanism = top(size, 20)[kind]
        if kind == "threshold":
            level = stats.norm.isf(20 / size)
            mechanism = dataclasses.replace(mechanism, threshold=float(level))
        rng, value = CountingSource(RandomSource.from_seed(10)), sparse_of(size, 500)
        mechanism.release(value, rng)
        rng.drawn = 0
        tracemalloc.start()
        for _ in range(10):
            mechanism.release(value, rng)
        used.append((rng.drawn / 10, tracemalloc.get_traced_memory()[1]))
        tracemalloc.stop()
    (words, _), (words_of_huge, memory) = used
    assert words_of_huge < 1.5 * words + 200
    assert memory < 1.5e6


@every_kind
def test_words_grow_with_what_is_listed_and_selected_only(kind):
    rng = CountingSource(RandomSource.from_seed(11))
    mechanism = top(HUGE, 20)[kind]
    if kind == "threshold":
        mechanism = dataclasses.replace(mechanism, threshold=6.0)
    mechanism.release(sparse_of(HUGE, 2000), rng)
    rounds = 20 if kind == "noisy max" else 1
    assert rng.drawn < rounds * (3 * 2000)
