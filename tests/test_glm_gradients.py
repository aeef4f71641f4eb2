"""Clipped gradients of linear models: the formula, the bound and the bits, on every route."""

import sys
from fractions import Fraction
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from skdp.mechanisms.statistics import SparseSum
from skdp.objectives.losses import (
    Huber,
    HuberHinge,
    Logistic,
    Multinomial,
    Squared,
    SquaredHinge,
)
from skdp.training import glm, glm_numpy

BINARY = (Logistic(), HuberHinge(), HuberHinge(0.1), SquaredHinge())
REGRESSION = (Huber(), Huber(0.3), Squared(2.0))
LOSSES = (*BINARY, *REGRESSION, Multinomial(2), Multinomial(5))
#: Short of the bound by this, the clip norm leaves room for rounding.
MARGIN = 2.0**-40
STORAGES = {"dense": np.array, "csr": sparse.csr_array}
rng = np.random.default_rng(20240607)


def _kernels():
    from skdp.training import glm_kernels

    return glm_kernels


ROUTES = {"numpy": lambda: glm_numpy}
if find_spec("numba"):
    ROUTES["compiled"] = _kernels


def _made(route, X, targets, loss, fit_intercept=True):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(glm, "_route", lambda loss: ROUTES[route]())
        return glm.GlmGradients(X, targets, loss, fit_intercept=fit_intercept)


def _targets(loss, n):
    if loss.n_outputs > 1:
        return rng.integers(0, loss.n_outputs, n)
    return rng.normal(size=n) if loss in REGRESSION else rng.choice([-1.0, 1.0], n)


def _table(n=40, d=9):
    """Rows of various norms, half of the values zero, one row all zero."""
    X = rng.normal(size=(n, d)) * rng.choice([0.01, 1.0, 10.0], (n, 1)) * (rng.random((n, d)) < 0.5)
    X[3] = 0
    return X


def _dense(total):
    return total.toarray() if isinstance(total, SparseSum) else total


def _clipped(vectors, max_norm):
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors * np.minimum(1, max_norm * (1 - MARGIN) / np.where(norms > 0, norms, 1))


def _gradients(X, targets, loss, parameters, fit_intercept):
    """Textbook gradients, (n, size), from the matrix product and `Loss.derivative`."""
    augmented = np.hstack([X, np.ones((len(X), int(fit_intercept)))])
    scores = augmented @ parameters.reshape(-1, loss.n_outputs)
    slopes = loss.derivative(scores[:, 0] if loss.n_outputs == 1 else scores, targets)
    outer = augmented[:, :, None] * slopes.reshape(len(X), 1, -1)
    return outer.reshape(len(X), -1), np.repeat(augmented != 0, loss.n_outputs, axis=1)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_every_sum_is_the_sum_of_clipped_textbook_vectors(loss, storage, route):
    X, fine = _table(), 2.0**-46
    targets, rows = _targets(loss, len(X)), rng.permutation(len(X))[:30]
    for fit_intercept in (False, True):
        values = rng.normal(size=(X.shape[1] + fit_intercept) * loss.n_outputs)
        full, touched = _gradients(X, targets, loss, 0.7 * values, fit_intercept)
        selected = np.flatnonzero(rng.random(values.size) < 0.4)
        model = _made(route, STORAGES[storage](X), targets, loss, fit_intercept)
        assert (model.n_records, model.size) == (len(X), values.size)
        for max_norm in (0.5, 3.0):
            bounds = {"max_norm": max_norm, "grid": fine}
            got = (
                _dense(model.clipped_sum(values, 0.7, rows, **bounds)),
                model.restricted_sum(values, 0.7, rows, selected, **bounds),
                model.contribution_map(rows, **bounds).toarray(),
            )
            wanted = (full, full[:, selected], touched.astype(float))
            for total, vectors in zip(got, wanted, strict=True):
                reference = _clipped(vectors, max_norm)[rows].sum(axis=0)
                np.testing.assert_allclose(total, reference, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("loss", [Logistic(), Squared(2.0), Multinomial(5)], ids=repr)
def test_both_routes_agree_to_one_grid_unit_a_record(loss, storage):
    X, grid = _table(300, 20), 2.0**-30
    targets, rows = _targets(loss, 300), np.arange(300)
    values = rng.normal(size=21 * loss.n_outputs)
    pytest.importorskip("numba")
    one, other = (_made(route, STORAGES[storage](X), targets, loss) for route in ROUTES)
    for i in rows[:50]:
        difference = [
            _dense(model.clipped_sum(values, 1.0, rows[i : i + 1], max_norm=1.0, grid=grid))
            for model in (one, other)
        ]
        assert np.abs(difference[0] - difference[1]).max() <= grid
    totals = [
        _dense(model.clipped_sum(values, 1.0, rows, max_norm=1.0, grid=grid))
        for model in (one, other)
    ]
    assert np.abs(totals[0] - totals[1]).max() <= 300 * grid


def _calls(model, values, selected, grid=2.0**-35):
    bounds = {"max_norm": 1.0, "grid": grid}
    return (
        lambda rows: _dense(model.clipped_sum(values, 0.9, rows, **bounds)),
        lambda rows: model.restricted_sum(values, 0.9, rows, selected, **bounds),
        lambda rows: model.contribution_map(rows, **bounds).toarray(),
    )


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("loss", [Logistic(), Multinomial(3)], ids=repr)
def test_a_batch_adds_up_to_its_records_exactly(loss, storage, route):
    X = _table(60, 7)
    values = rng.normal(size=8 * loss.n_outputs)
    model = _made(route, STORAGES[storage](X), _targets(loss, 60), loss)
    for total in _calls(model, values, np.arange(0, values.size, 2)):
        alone = np.array([total(np.array([i])) for i in range(60)])
        for size in (2, 3, 17, 60):
            rows = rng.permutation(60)[:size]
            assert np.array_equal(total(rows), alone[rows].sum(axis=0))


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("n_features", [1, 2, 3, 7, 37, 300])
@pytest.mark.parametrize("loss", [Logistic(), Multinomial(3)], ids=repr)
def test_a_record_adds_the_same_bits_whoever_stands_beside_it(loss, n_features, storage, route):
    # The others are not numbers: they add nothing, so that the grid may be as fine as the bits.
    values = rng.normal(size=(n_features + 1) * loss.n_outputs)
    selected, targets = np.arange(0, values.size, 2), _targets(loss, 60)
    for i in range(0, 60, 6):
        X = np.full((60, n_features), np.nan)
        X[i] = row = rng.normal(size=n_features)
        among = _made(route, STORAGES[storage](X), targets, loss)
        alone = _made(route, STORAGES[storage](row[None]), targets[i : i + 1], loss)
        for size in (1, 2, 3, 5, 17, 60):
            rows = np.append(rng.choice(np.delete(np.arange(60), i), size - 1, replace=False), i)
            for one, other in zip(
                *(_bits(m, values, selected) for m in (among, alone)), strict=True
            ):
                assert np.array_equal(one(rng.permutation(rows)), other(np.array([0])))


def _bits(model, values, selected):
    """Sums with a clip norm and a grid that leave all bits of a record's vector."""
    bounds = {"max_norm": 2.0**-9, "grid": 2.0**-60}
    return (
        lambda rows: _dense(model.clipped_sum(values, 0.9, rows, **bounds)),
        lambda rows: model.restricted_sum(values, 0.9, rows, selected, **bounds),
    )


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("storage", STORAGES)
def test_float32_and_wide_indices_are_computed_in_float64(storage, route):
    X = _table().astype(np.float32)
    targets, values = _targets(Logistic(), 40), rng.normal(size=10)
    stored = STORAGES[storage](X)
    if storage == "csr":
        stored.indices, stored.indptr = stored.indices.astype("i8"), stored.indptr.astype("i8")
    narrow = _made(route, stored, targets, Logistic())
    wide = _made(route, STORAGES[storage](X.astype(float)), targets, Logistic())
    bounds = {"max_norm": 1.0, "grid": 2.0**-40}
    totals = [_dense(m.clipped_sum(values, 1.0, np.arange(40), **bounds)) for m in (narrow, wide)]
    assert np.array_equal(*totals)


# The bound ---------------------------------------------------------------------------------------


def _exact_square(vector):
    return sum(Fraction(float(v)) ** 2 for v in vector)


def _assert_dropping_moves_by_at_most(model, values, scale, selected, max_norm, grid):
    everyone, bounds = np.arange(model.n_records), {"max_norm": max_norm, "grid": grid}
    sums = (
        lambda rows: _dense(model.clipped_sum(values, scale, rows, **bounds)),
        lambda rows: model.restricted_sum(values, scale, rows, selected, **bounds),
        lambda rows: model.contribution_map(rows, **bounds).toarray(),
    )
    for total in sums:
        whole = [Fraction(float(v)) for v in total(everyone)]
        for dropped in everyone:
            rest = total(np.delete(everyone, dropped))
            moved = [a - Fraction(float(b)) for a, b in zip(whole, rest, strict=True)]
            assert sum(m**2 for m in moved) <= Fraction(max_norm) ** 2
            assert all(m % Fraction(grid) == 0 for m in moved)


anything = st.floats(width=64) | st.sampled_from([0.0, 1.0, 1e308, -1e308, 1e-308, 5e-324, 1e160])


@st.composite
def _cases(draw):
    loss = draw(st.sampled_from([*BINARY, *REGRESSION, Multinomial(3)]))
    n, d = 3, draw(st.integers(1, 4))
    values = draw(st.lists(anything, min_size=d * n, max_size=d * n))
    size = (d + 1) * loss.n_outputs
    parameters = draw(st.lists(anything, min_size=size, max_size=size))
    if loss.n_outputs > 1:
        targets = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    elif loss in REGRESSION:
        targets = draw(st.lists(anything, min_size=n, max_size=n))
    else:
        targets = draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=n, max_size=n))
    max_norm = draw(st.floats(2.0**-20, 2.0**20))
    grid = 2.0 ** (np.floor(np.log2(max_norm)) - draw(st.integers(0, 45)))
    return loss, np.reshape(values, (n, d)), targets, np.array(parameters), max_norm, grid


@settings(max_examples=60, deadline=None, derandomize=True)
@given(_cases(), st.sampled_from([0.0, 1e-200, 0.3, 1.0, 1e300]), st.integers(0, 2**15 - 1))
def test_dropping_any_record_moves_no_sum_by_more_than_the_clip_norm(case, scale, chosen):
    loss, X, targets, values, max_norm, grid = case
    selected = np.array([c for c in range(values.size) if chosen >> c & 1], dtype=np.int64)
    for route in ROUTES:
        for store in STORAGES.values():
            model = _made(route, store(X), targets, loss)
            _assert_dropping_moves_by_at_most(model, values, scale, selected, max_norm, grid)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("size", [1e-320, 1e-160, 0.1, 1e160, 1.7e308])
def test_long_rows_of_every_size_stay_within_the_bound_and_close_to_it(size, storage, route):
    X = np.full((1, 20_000), size) * rng.uniform(0.5, 1, 20_000)
    model = _made(route, STORAGES[storage](X), [1.7e308], Squared(1.0), False)
    values, row = np.zeros(20_000), np.array([0])
    bounds = {"max_norm": 0.1, "grid": 2.0**-45}
    whole = _dense(model.clipped_sum(values, 1.0, row, **bounds))
    half = model.restricted_sum(values, 1.0, row, np.arange(0, 20_000, 2), **bounds)
    for contribution in (whole, half):
        square = _exact_square(contribution)
        assert square <= Fraction(0.1) ** 2
        assert size < 1e-150 or square > Fraction(0.1) ** 2 * Fraction(1 - 1e-9)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("storage", STORAGES)
def test_squares_that_are_lost_one_by_one_are_allowed_for(storage, route):
    # 1 + 2^-54 is 1: added in turn, 60,000 of them are worth more than the usual margin.
    X = np.full((1, 60_000), 0.999 * 2.0**-27)
    X[0, 0] = 1.0
    model = _made(route, STORAGES[storage](X), [1.0], HuberHinge(0.1), False)
    values, row, selected = np.zeros(60_000), np.array([0]), np.arange(60_000)
    bounds = {"max_norm": 2.0**-9, "grid": 2.0**-60}
    for contribution in (
        _dense(model.clipped_sum(values, 1.0, row, **bounds)),
        model.restricted_sum(values, 1.0, row, selected, **bounds),
    ):
        assert _exact_square(contribution) <= Fraction(2.0**-18)


def test_a_probability_too_small_to_be_squared_does_not_escape_clipping():
    X, targets = np.array([[1e300]]), [0]
    values = np.array([0.0, -5e-298])  # p_1 = exp(-500): its square is 0 in floating point
    for route in ROUTES:
        for store in STORAGES.values():
            model = _made(route, store(X), targets, Multinomial(2), False)
            for selected in ([0, 1], [1]):
                bounds = {"max_norm": 1.0, "grid": 2.0**-40}
                row, chosen = np.array([0]), np.array(selected)
                total = _dense(model.clipped_sum(values, 1.0, row, **bounds))
                part = model.restricted_sum(values, 1.0, row, chosen, **bounds)
                assert 0.99 < np.abs(total).max() <= 1
                assert 0.99 < np.abs(part).max() <= 1


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_counts_for_nothing(bad, storage, route):
    X = np.array([[1.0, 2.0], [bad, 1.0], [3.0, 0.0]])
    bounds = {"max_norm": 1.0, "grid": 2.0**-30}
    rows, good, selected = np.arange(3), np.array([0, 2]), np.array([1, 2])
    model = _made(route, STORAGES[storage](X), [1.0, 1.0, -1.0], Logistic())
    for values in (np.zeros(3), np.array([0.0, 1.0, 2.0])):
        for call in (
            lambda rows, w=values: _dense(model.clipped_sum(w, 1.0, rows, **bounds)),
            lambda rows, w=values: model.restricted_sum(w, 1.0, rows, selected, **bounds),
        ):
            assert np.array_equal(call(rows), call(good))
    lost = _dense(model.clipped_sum(np.array([0.0, 0.0, bad]), 1.0, rows, **bounds))
    assert not lost.any()


def test_a_record_of_zeros_still_moves_the_intercept():
    for route in ROUTES:
        model = _made(route, sparse.csr_array((1, 4)), [1.0], Logistic())
        bounds = {"max_norm": 0.25, "grid": 2.0**-40}
        total = model.clipped_sum(np.zeros(5), 1.0, np.array([0]), **bounds)
        assert total.indices.tolist() == [4]
        assert total.values[0] == pytest.approx(-0.25)
        assert model.contribution_map(np.array([0]), **bounds).indices.tolist() == [4]


# Sparse sums, large batches, routes, refusals ----------------------------------------------------


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("n_features", [5, 3000, 20_000_000, 2**40])
def test_sparse_sums_list_what_is_not_zero_in_order(n_features, n_outputs, route):
    data, row = rng.normal(size=900), np.repeat(np.arange(30), 30)
    column = rng.integers(0, n_features, 900)
    X = sparse.coo_array((data, (row, column)), (30, n_features)).tocsr()
    X.data[::7] = 0
    loss = Logistic() if n_outputs == 1 else Multinomial(3)
    model = _made(route, X, _targets(loss, 30), loss, n_features < 2**40)
    bounds, rows = {"max_norm": 1.0, "grid": 2.0**-30}, np.arange(30)
    found = [model.contribution_map(rows, **bounds)]
    if n_features < 2**40:
        found.append(model.clipped_sum(np.zeros(model.size), 1.0, rows, **bounds))
    for total in found:
        assert total.indices.dtype == np.int64
        assert (np.diff(total.indices) > 0).all()
        assert (total.values != 0).all()
        features = np.unique(total.indices // n_outputs)
        touched = np.unique(X.indices[X.data != 0])
        assert np.array_equal(features[features < n_features], touched)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("storage", STORAGES)
def test_a_large_batch_is_summed_in_parts(storage, route, monkeypatch):
    X, loss = _table(), Multinomial(3)
    model = _made(route, STORAGES[storage](X), _targets(loss, 40), loss)
    values, rows = rng.normal(size=30), rng.permutation(40)
    at_once = [call(rows) for call in _calls(model, values, np.arange(5, 20))]
    monkeypatch.setattr(glm, "LARGEST_BATCH", 100)
    in_parts = [call(rows) for call in _calls(model, values, np.arange(5, 20))]
    for one, other in zip(at_once, in_parts, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("storage", STORAGES)
def test_no_records_sum_to_nothing(storage, route):
    model = _made(route, STORAGES[storage](_table()), _targets(Logistic(), 40), Logistic())
    for call in _calls(model, np.ones(10), np.array([1, 9])):
        assert not call(np.zeros(0, np.int64)).any()


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_compiled_derivative_is_that_of_the_loss(loss):
    pytest.importorskip("numba")
    from skdp.training import loss_kernels as kernels

    scores = np.array([0, 1, -1, 0.3, 5, 40, -800, 1e300, -1e300, np.inf, -np.inf, np.nan, 5e-324])
    code = kernels.loss_code(loss)
    with np.errstate(all="ignore"):
        if loss.n_outputs == 1:
            for target in (-1.0, 1.0) if loss in BINARY else (0.0, -1e300, 0.37):
                wanted = loss.derivative(scores, np.full(scores.shape, target))
                got = [kernels.derivative(code, score, target) for score in scores]
                np.testing.assert_allclose(got, wanted, rtol=1e-15, atol=0)
        else:
            logits = scores[rng.integers(0, len(scores), (200, loss.n_outputs))]
            targets = rng.integers(0, loss.n_outputs, 200)
            wanted = loss.derivative(logits, targets)
            for row, target, expected in zip(logits.copy(), targets, wanted, strict=True):
                kernels.softmax_derivative(row, float(target), row)
                np.testing.assert_allclose(row, expected, rtol=1e-14, atol=0)


def test_without_numba_the_numpy_route_is_taken(monkeypatch):
    import skdp.training

    monkeypatch.setitem(sys.modules, "skdp.training.glm_kernels", None)
    monkeypatch.delattr(skdp.training, "glm_kernels", raising=False)
    assert glm._route(Logistic()) is glm_numpy


def test_with_numba_the_compiled_route_is_taken_for_losses_it_knows():
    pytest.importorskip("numba")
    assert all(glm._route(loss) is _kernels() for loss in LOSSES)
    assert glm._route(object()) is glm_numpy


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("rows", [[-1], [0, 40]])
def test_rows_that_do_not_exist_are_refused(rows, storage, route):
    model = _made(route, STORAGES[storage](_table()), _targets(Logistic(), 40), Logistic())
    for call in _calls(model, np.zeros(10), np.array([0])):
        with pytest.raises(IndexError):
            call(np.array(rows))


def test_what_the_kernels_rely_on_is_checked():
    X, y, loss = _table(), _targets(Logistic(), 40), Logistic()
    twice = sparse.csr_array(([1.0, 2.0], [0, 0], [0, 2]), shape=(1, 2))
    for bad in (X.astype(int), X[0], sparse.csc_array(X)):
        with pytest.raises(ValueError, match="X must"):
            glm.GlmGradients(bad, y, loss, fit_intercept=True)
    for array, place, value in (("indices", -1, 9), ("indices", 0, -1), ("indptr", 5, 10**6)):
        outside = sparse.csr_array(X)
        assert outside.has_canonical_format
        getattr(outside, array)[place] = value
        with pytest.raises(ValueError, match="point outside"):
            glm.GlmGradients(outside, y, loss, fit_intercept=True)
    with pytest.raises(ValueError, match="duplicates"):
        glm.GlmGradients(twice, [1.0], loss, fit_intercept=True)
    with pytest.raises(ValueError, match="targets"):
        glm.GlmGradients(X, y[:-1], loss, fit_intercept=True)
    with pytest.raises(ValueError, match="class indices"):
        glm.GlmGradients(X, np.full(40, 3), Multinomial(3), fit_intercept=True)
    model, rows = glm.GlmGradients(X, y, loss, fit_intercept=True), np.arange(3)
    with pytest.raises(ValueError, match="values"):
        model.clipped_sum(np.zeros(9), 1.0, rows, max_norm=1.0, grid=0.5)
    with pytest.raises(ValueError, match="max_norm"):
        model.clipped_sum(np.zeros(10), 1.0, rows, max_norm=1.0, grid=0.3)
    for selected in ([3, 2], [2, 2], [-1], [10]):
        with pytest.raises(ValueError, match="selected"):
            model.restricted_sum(
                np.zeros(10), 1.0, rows, np.array(selected), max_norm=1.0, grid=0.5
            )


def test_machine_code_is_kept_under_a_name_that_changes_with_every_source_it_uses(
    tmp_path, monkeypatch
):
    pytest.importorskip("numba")
    from skdp.training import compiled_kernels, dense_kernels

    used = ("dense_kernels", "record_kernels", "loss_kernels", "glm_contract")
    package = tmp_path / "skdp" / "training"
    package.mkdir(parents=True)
    for name in used:
        source = compiled_kernels.ROOT / "skdp" / "training" / f"{name}.py"
        (package / f"{name}.py").write_bytes(source.read_bytes())
    stamp = compiled_kernels.digest("skdp.training.dense_kernels")
    assert dense_kernels.clipped_sum.py_func.__qualname__ == f"clipped_sum_{stamp}"
    monkeypatch.setattr(compiled_kernels, "ROOT", tmp_path)
    fresh = compiled_kernels.digest.__wrapped__
    seen = {fresh("skdp.training.dense_kernels")}
    for count, name in enumerate(used, start=2):
        with open(package / f"{name}.py", "a") as file:
            file.write("# changed\n")
        seen.add(fresh("skdp.training.dense_kernels"))
        assert len(seen) == count
