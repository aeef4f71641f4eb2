"""Record and replay of estimators that protect groups: a whole group comes, goes or changes."""

import inspect
import warnings
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from skdp._random import RandomSource
from skdp.linear_model import SparseDPSGDClassifier
from skdp.mechanisms.row_sum import RowSum
from skdp.neural_network import PrivateMLPClassifier
from skdp.privacy import Neighbours
from skdp.records.groups import GroupSlots
from skdp.stability import sgd_bounds
from skdp.training import FullBatch, PoissonSampler, ShuffledBatches
from skdp.training.grouped_sampling import SampledGroups
from skdp.training.mlp_run import MlpRun
from skdp.training.sampling import Batches
from tests.support import grouped
from tests.support.grouped import G, M, replaced, without_the_last
from tests.support.private_sgd import reference_steps
from tests.support.replay import fit_trace, same, violations

CONTAINERS = [np.asarray, sparse.csr_array]
each_container = pytest.mark.parametrize("container", CONTAINERS)


@pytest.fixture(autouse=True)
def _recorded_loop():
    with reference_steps():
        yield


def arguments(estimator, data, container=np.asarray):
    """Arguments of fit in their places."""
    X, y, groups = data
    given = {"X": container(X), "y": y.astype(float) if is_regressor(estimator) else y}
    given["groups"] = groups
    taken = inspect.signature(estimator.fit).parameters.values()
    return tuple(given.get(p.name) for p in taken if p.kind is not p.KEYWORD_ONLY)


def found(estimator, pair, container=np.asarray):
    return violations(estimator, *(arguments(estimator, data, container) for data in pair))


def pairs(change, seed=0):
    """A group of one row, of as many as count, and of more than count."""
    for n_rows in (1, M, M + 2):
        yield change(min(n_rows, 4) if change is without_the_last else n_rows, rng_of(seed))


def rng_of(seed):
    return np.random.default_rng(seed)


def named(estimators):
    listed = list(estimators)
    ids = [f"{type(e).__name__} {place}" for place, e in enumerate(listed)]
    return pytest.mark.parametrize("estimator", listed, ids=ids)


@each_container
@named(grouped.grouped())
@pytest.mark.parametrize("change", [without_the_last, replaced])
def test_a_group_replaced_or_removed_differs_in_the_release_alone(estimator, container, change):
    for pair in pairs(change):
        assert found(estimator, pair, container) == []


@each_container
@named([*grouped.private_sgd(), *grouped.networks()])
def test_a_group_that_is_gone_differs_in_the_releases_of_the_steps_alone(estimator, container):
    if getattr(estimator, "center", None) == "private" and container is not np.asarray:
        pytest.skip("Sparse rows are not centred.")
    for pair in pairs(without_the_last):
        assert found(estimator, pair, container) == []


@each_container
@pytest.mark.parametrize(
    "sampling",
    [
        "fixed_size",
        PoissonSampler(3 / G, 3.0, Neighbours.REPLACE_ONE),
        ShuffledBatches(3, G, Neighbours.REPLACE_ONE),
    ],
    ids=["fixed size", "poisson", "shuffled"],
)
@pytest.mark.parametrize("make", [grouped.private_sgd, grouped.networks])
def test_a_group_that_is_replaced_differs_in_the_releases_of_the_steps_alone(
    make, sampling, container
):
    estimator = next(make()).set_params(sampling=sampling)
    if not isinstance(sampling, str):
        estimator.set_params(batch_size="auto")
    for pair in pairs(replaced):
        assert found(estimator, pair, container) == []


@parametrize_with_checks([grouped.GroupedDPSGD(max_rows_per_group=2)])
def test_scikit_learn_checks_of_an_estimator_of_groups(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([e for e in grouped.checked() if type(e) is not grouped.GroupedDPSGD])
def test_scikit_learn_checks_of_estimators_of_groups(estimator, check):
    if "sample_weight" in check.func.__name__:
        pytest.skip("This fit, of tests, takes no weights.")
    check(estimator)


# --------------------------------------------------------------------------------- the worst group


def one_sided(n_rows=M):
    """The last group pulls one way with all rows; the others, at 0, not at all."""
    groups = np.repeat(np.arange(G), n_rows)
    X = np.where(groups == G - 1, 1e3, 0.0)[:, None]
    y = np.where(groups == G - 1, 1, np.arange(len(groups)) % 2)
    rest = groups < G - 1
    return (X, y, groups), (X[rest], y[rest], groups[rest])


def shares_of_the_bound(estimator, pair):
    """How far the first release moves, in units of its sensitivity."""
    recorded = fit_trace(estimator, arguments(estimator, pair[0]))
    replayed = fit_trace(estimator, arguments(estimator, pair[1]), recorded.outputs)
    return [
        np.linalg.norm(first - second) / mechanism.sensitivity.value
        for mechanism, first, second in zip(
            recorded.mechanisms, recorded.inputs, replayed.inputs, strict=True
        )
    ]


def full(make, **changed):
    return next(make()).set_params(
        sampling="full", batch_size="auto", max_grad_norm=0.01, **changed
    )


@pytest.mark.parametrize("make", [grouped.private_sgd, grouped.networks])
def test_the_worst_group_attains_the_bound_of_a_step(make):
    shares = shares_of_the_bound(full(make), one_sided())
    assert 0.9 < max(shares) <= 1


def test_rows_beyond_the_most_that_count_move_nothing_further():
    shares = shares_of_the_bound(full(grouped.private_sgd), one_sided(M + 4))
    assert 0.99 < max(shares) <= 1


def test_the_worst_group_attains_the_bound_of_a_centre():
    model = full(grouped.networks, center="private", center_norm=0.01)
    assert 0.99 < shares_of_the_bound(model, one_sided())[0] <= 1


class TestPlantedBugs:
    """What replay must see."""

    def test_the_sensitivity_of_a_row(self, monkeypatch):
        monkeypatch.setattr(
            SampledGroups, "sensitivity", lambda self, norm: self.groups.sensitivity(norm)
        )
        for make in (grouped.private_sgd, grouped.networks):
            sentences = found(full(make), one_sided())
            assert any("moved by 2.9" in s or "moved by 3.0" in s for s in sentences)

    def test_a_centre_charged_for_one_row(self, monkeypatch):
        true = RowSum.sensitivity.fget
        monkeypatch.setattr(
            RowSum, "sensitivity", property(lambda self: true(replace(self, rows_per_unit=1)))
        )
        model = full(grouped.networks, center="private", center_norm=0.01)
        assert any("moved by 3.0" in s for s in found(model, one_sided()))

    def test_a_divisor_of_the_rows_kept(self, monkeypatch):
        def kept(self):
            rows = 0 if self.members is None else len(self.members[0])
            return max(1, rows)

        monkeypatch.setattr(SampledGroups, "divisor", property(kept))
        model = next(grouped.private_sgd())
        assert "attribute coef_ changed" in found(model, without_the_last(M, rng_of(0)))

    def test_every_row_of_a_group(self, monkeypatch):
        """The run refuses what the public facts rule out."""

        def all_rows(places, *, n_groups, per_group):
            order = np.argsort(places, kind="stable")
            return GroupSlots(order, places[order] * per_group, n_groups, per_group)

        monkeypatch.setattr(GroupSlots, "first_rows", all_rows)
        sentences = found(full(grouped.private_sgd), one_sided(M + 4))
        assert any("other groups than the public facts say" in s for s in sentences)

    def test_places_of_rows_that_nobody_fills_taken_for_rows(self, monkeypatch):
        true = MlpRun.over

        def filled(self, slots):
            run = true(self, slots)
            object.__setattr__(run, "empty", None)
            return run

        monkeypatch.setattr(MlpRun, "over", filled)
        (X, y, groups), (X_rest, y_rest, rest) = one_sided()
        pair = ((X, 0 * y, groups), (X_rest, y_rest, rest))
        assert any("input moved" in s for s in found(full(grouped.networks), pair))

    def test_stable_sgd_with_the_bound_of_a_row(self, monkeypatch):
        model = list(grouped.grouped())[4].set_params(loss="huber_hinge", alpha=8.0)
        model.set_params(fit_intercept=False)
        (X, y, groups), _ = one_sided()
        pair = (X, y, groups), (-X, y, groups)
        assert found(model, pair) == []
        true = sgd_bounds.sgd_sensitivity

        def of_one_row(run):
            return true(replace(run, domain=replace(run.domain, rows_per_unit=1)))

        monkeypatch.setattr("skdp.stability.sgd_plan.sgd_sensitivity", of_one_row)
        assert any("input moved" in s for s in found(model, pair))


# ------------------------------------------------------------------------- sampling whole groups


def drawn(sampler, seed):
    blocks = sampler.blocks(11, 4, RandomSource.from_seed(seed))
    return [rows for block in blocks for rows in block.each()]


@pytest.mark.parametrize(
    "groups", [PoissonSampler.of_batch_size(3, G), ShuffledBatches(3, G), FullBatch(G)], ids=str
)
def test_a_batch_holds_all_rows_of_a_group_or_none(groups):
    assert batches_split_no_group(SampledGroups(groups, M))


def batches_split_no_group(sampler):
    places = np.array([0, 5, 5, 2, 0, 2, 6, 5, 0, 7, 1])
    slots = GroupSlots.first_rows(places, n_groups=G, per_group=M)
    bound = sampler.over(slots.rows, slots.starts)
    expected = [set(np.flatnonzero(places == g)) for g in range(G)]
    for seed in range(40):
        for rows in drawn(bound, seed):
            there = set(rows)
            if len(there) < len(rows) or any(there & e not in (set(), e) for e in expected):
                return False
    return True


@dataclass(frozen=True)
class RowsOfGroups(SampledGroups):
    """The planted bug: rows are drawn one by one, at the price of groups that are drawn."""

    def blocks(self, n_records, n_steps, rng):
        rows = self.members[0]
        share = self.groups.sampling_probability
        single = PoissonSampler(share, share * len(rows))
        for block in single.blocks(len(rows), n_steps, rng):
            yield Batches(rows[block.rows], block.offsets)


def test_rows_that_are_drawn_one_by_one_are_seen_to_split_groups():
    assert not batches_split_no_group(RowsOfGroups(PoissonSampler.of_batch_size(3, G), M))


def advantage(n_runs=600):
    """How much likelier a fit looks as if a group is there where it is, and what delta(0) allows.

    One step; the group pulls with all rows or, in the other table, is null.
    """
    n_groups, per_group = 20, 4
    groups = np.repeat(np.arange(n_groups), per_group)
    X = np.where(groups == 0, 9.0, 0.0)[:, None]
    y = np.zeros(len(groups), dtype=int)
    model = SparseDPSGDClassifier(
        epsilon=40.0, delta=1e-3, batch_size=2, n_epochs=0.1, fit_intercept=False,
        classes=(0, 1), max_rows_per_group=per_group, n_groups=n_groups, average=False,
    )  # fmt: skip
    seen = []
    for rows in (X, 0 * X):
        sums = []
        for seed in range(n_runs):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.set_params(random_state=seed).fit(rows, y, groups=groups)
            sums.append(-model.coef_[0, 0] * model.batch_size_ / model.learning_rate_)
        seen.append(np.mean(np.array(sums) > 0.6))
    assert model.n_steps_ == 1
    return seen[0] - seen[1], model.privacy_.delta_at(1e-9)


@pytest.mark.slow
def test_an_attack_gains_what_a_group_that_is_drawn_as_a_whole_allows(monkeypatch):
    """Of 600 runs each: the gain is off by 0.1 with a probability below 1e-6."""
    gained, allowed = advantage()
    assert 0.3 * allowed < gained < allowed + 0.1
    monkeypatch.setattr(SampledGroups, "blocks", RowsOfGroups.blocks)
    gained, allowed = advantage()
    assert gained > allowed + 0.1


@each_container
def test_groups_of_one_row_give_the_steps_of_rows(container):
    rng = rng_of(0)
    X, y = container(rng.normal(size=(40, 3))), np.arange(40) % 2
    given = {"epsilon": 3.0, "delta": 1e-3, "classes": (0, 1), "random_state": 0}
    for cls in (SparseDPSGDClassifier, PrivateMLPClassifier):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = cls(**given).fit(X, y)
            one = cls(**given, max_rows_per_group=1).fit(X, y, groups=rng.permutation(40))
        for name in ("coef_", "coefs_"):
            assert same(getattr(rows, name, 0), getattr(one, name, 0))
        assert rows.privacy_.epsilon == one.privacy_.epsilon
        assert one.privacy_.unit == "group"
