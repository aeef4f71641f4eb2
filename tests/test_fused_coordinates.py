"""Steps on single coordinates in compiled code beside dense noise, and beside the loop."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from skdp._random import RandomSource
from skdp.embedding import coordinate_rules, strata
from skdp.embedding import fused as rows_module
from skdp.embedding import fused_coordinates as module
from skdp.embedding import supply as supply_module
from skdp.embedding.coordinate_rules import LARGEST, RACE, REACHING, rule_of
from skdp.embedding.fused_coordinates import can_fuse_coordinates, fused_coordinates_dpsgd
from skdp.embedding.strata import Exponentials, Gaussians, Laplaces, UpperGaussians
from skdp.embedding.supply import Supply
from skdp.mechanisms.rounded_gaussian import RoundedGaussian
from skdp.mechanisms.statistics import Selection
from skdp.training import (
    Adam,
    AllCoordinates,
    ConstantNoise,
    Descent,
    ExponentialDecay,
    ExponentialSelector,
    GaussianSelector,
    NoisyMaxSelector,
    PermuteAndFlipSelector,
    PoissonSampler,
    SparseVectorSelector,
    SurvivorSelector,
    TrainingPlan,
    dpsgd,
)
from skdp.training.steps import SurvivorsStep, TopKStep
from tests.support.word_vectors import corpus, gradients_of, records_of
from tests.test_fused_word_vectors import Noises

pytest.importorskip("numba", exc_type=ImportError)

STEPS, SIZE = 15, 70
WORDS = tuple(f"w{i}" for i in range(12))
N = len(WORDS) * SIZE
SELECTORS = {
    "gaussian": GaussianSelector(60),
    "gaussian, few": GaussianSelector(1),
    "gaussian, most": GaussianSelector(700),
    "gaussian, all": GaussianSelector(N),
    "gaussian, again": GaussianSelector(40, share=0.4, selected_norm=0.3),
    "exponential": ExponentialSelector(60),
    "exponential, few": ExponentialSelector(2, selected_norm=0.3),
    "exponential, most": ExponentialSelector(600),
    "sparse vector": SparseVectorSelector(30, selected_norm=0.3),
    "sparse vector, low": SparseVectorSelector(50, threshold=0.01),
    "sparse vector, zero": SparseVectorSelector(50, threshold=0.0),
    "sparse vector, high": SparseVectorSelector(3, threshold=200.0),
    "adafest": SurvivorSelector(20, share=0.4),
    "adafest, most": SurvivorSelector(500),
}
LEVELS = {"much noise": 2.0, "little noise": 0.05}


def planned(selector, n_records, level=1.0, noise=None, steps=STEPS, rate=0.3):
    sampler = PoissonSampler(rate, rate * n_records)
    noise = ConstantNoise() if noise is None else noise
    return TrainingPlan(sampler, selector, noise.at_level(level), 1.0, n_steps=steps, size=N)


def adam_of(plan, rate=0.05):
    rates = np.full(plan.n_steps, rate)
    descent = Descent(rates, plan.sampler.divisor, 0.0, 0, average_from=plan.n_steps - 1)
    return Adam(descent, np.random.default_rng(1).normal(size=plan.size))


def instance(by_document=True):
    records = records_of(corpus((6, 0, 9, 30, 3, 5)), by_document=by_document, words=WORDS)
    return records, gradients_of(records, size=SIZE)


class Recorded:
    """What the fused steps drew: planes of bits, and what every row was filled with, in order."""

    def __init__(self, monkeypatch, noises=16):
        self.supplies = []
        monkeypatch.setattr(supply_module, "_NOISES", noises)
        for name in ("__init__", "planes", "_fill"):
            monkeypatch.setattr(Supply, name, getattr(self, name.strip("_"))(getattr(Supply, name)))

    def init(self, original):
        def init(supply, law, rng):
            self.supplies.append({"law": law, "planes": [], "rows": {}})
            original(supply, law, rng)

        return init

    def planes(self, original):
        def planes(supply, *shape):
            drawn = original(supply, *shape)
            self.supplies[-1]["planes"].extend(drawn)
            return drawn

        return planes

    def fill(self, original):
        def fill(supply, row):
            used = int(supply._used[row])
            original(supply, row)
            whole, rows = supply._pools[row], self.supplies[-1]["rows"]
            rows.setdefault(row, []).extend(whole[len(whole) - used :].tolist())

        return fill


class Dense:
    """Each step with noise on every coordinate, of the same bits where the fused steps drew any."""

    def __init__(self, recorded, noises, gradients, rng=0):
        self.recorded, self.noises, self.gradients = iter(recorded.supplies), noises, gradients
        self.rng = RandomSource.from_seed(rng)
        self.others = {}
        self.latest, self.used_values, self.fallbacks, self.cut = None, {}, 0, 0

    def run(self, plan, optimizer, batches, bars):
        for t, (step, rows) in enumerate(zip(plan.steps(), batches, strict=True)):
            self.gradients.begin(t)
            self.begin(step)
            where, noisy = self.selected(step, optimizer.values, rows, bars[t])
            optimizer.apply(self.released(step, optimizer.values, rows, where, noisy))
        return optimizer.result()

    def begin(self, step):
        if step.selection != self.latest:
            self.latest, self.supply = step.selection, next(self.recorded)
            self.at, self.planes = {}, iter(self.supply["planes"])

    def take(self, row, n=1):
        start = self.at.get(row, 0)
        self.at[row] = start + n
        return self.supply["rows"][row][start : start + n]

    def scores(self, step, values, rows):
        (norm, grid), where = step.sums[0], {}
        where = {"max_norm": norm, "grid": grid}
        if isinstance(step, SurvivorsStep):
            return self.gradients.contribution_map(rows, **where).toarray() / grid
        return self.gradients.clipped_sum(values, 1.0, rows, **where).toarray() / grid

    def touched(self, rows):
        """Whether records touch a coordinate."""
        found = np.zeros((len(WORDS), SIZE), bool)
        for row in rows:
            made = self.gradients._records_of_test.examples(int(row), self.gradients._key)
            for words in (made.contexts, made.targets, made.negatives):
                found[words] = True
        return found.ravel()

    def strata(self, law):
        """Stratum of every coordinate's noise: the one whose words begin with its bits."""
        first, planes = law.strata[0].beginning, next(self.planes)
        known = [bit for bit in range(63, 55, -1) if first.mask >> bit & 1]
        found = np.empty((len(WORDS), SIZE), np.int64)
        for word in range(len(WORDS)):
            for i in range(SIZE):
                begun = first.value
                for bits, place in zip(planes, known, strict=True):
                    begun ^= (int(bits[word * -(-SIZE // 64) + i // 64]) >> i % 64 & 1) << place
                (found[word, i],) = (
                    at for at, stratum in enumerate(law.strata)
                    if begun & stratum.beginning.mask == stratum.beginning.value
                )  # fmt: skip
        return found.ravel()

    def selected(self, step, values, rows, bar):
        rule, law = rule_of(step.selection), self.supply["law"]
        sums = self.scores(step, values, rows)
        grid = step.sums[0][1]
        scores = sums if rule.kind == LARGEST else (abs(sums) * grid - rule.shift) / rule.scale
        zero = 0.0 if rule.kind == LARGEST else -rule.shift / rule.scale
        places, touched = self.strata(law), self.touched(rows)
        height = abs(scores) if rule.kind == LARGEST else scores
        open_ = np.where(touched, height + law.tops[places] >= bar, places == 0)
        noisy = np.array([
            self.noisy(rule, score, self.take(place)[0] if drawn else self.other(law, place))
            for score, place, drawn in zip(scores, places, open_, strict=True)
        ])  # fmt: skip
        drawn = noisy[open_]
        if rule.kind == REACHING:
            enough = len(law.tops) == 1 or zero < bar - law.tops[1]
        else:
            enough = (abs(drawn) >= bar).sum() >= rule.most if rule.kind == LARGEST else (
                (drawn >= bar).sum() >= rule.most)  # fmt: skip
        if not enough and len(law.tops) > 1:
            self.fallbacks += 1
            for i in np.flatnonzero(~open_)[::-1]:
                noisy[i] = self.noisy(rule, scores[i], self.take(places[i])[0])
        return self.chosen(rule, noisy, bar), noisy

    def chosen(self, rule, noisy, bar):
        if rule.kind != REACHING:
            height = abs(noisy) if rule.kind == LARGEST else noisy
            return np.sort(np.argsort(-height, kind="stable")[: rule.most])
        where = np.flatnonzero(noisy >= bar)
        if len(where) > rule.most:
            self.cut += 1
            keys = np.array(self.take(len(self.supply["law"].strata), len(where)))
            where = np.sort(where[np.argsort(-keys, kind="stable")[: rule.most]])
        return where

    def noisy(self, rule, score, noise):
        return score - np.log(noise) if rule.kind == RACE else score + noise

    def other(self, law, place):
        """A noise that the fused steps did not draw."""
        left = self.others.setdefault((law, place), [])
        if not left:
            noises = np.empty(500)
            law.draw(int(place), noises, self.rng)
            left += noises.tolist()
        return left.pop()

    def released(self, step, values, rows, where, noisy):
        if isinstance(step, TopKStep):
            return Selection(where, noisy[where] * step.sums[0][1])
        norm, grid = step.sums[1]
        total = self.gradients.restricted_sum(values, 1.0, rows, where, max_norm=norm, grid=grid)
        std = step.noise.noise_std
        at = self.used_values.get(std, 0)
        self.used_values[std] = at + len(where)
        return Selection(where, (total / grid + self.noises.of(std)[at:][: len(where)]) * grid)


def is_fresh(recorded):
    """Whether no word of bits, and no noise that hardly ever repeats itself, was drawn twice."""
    for supply in recorded.supplies:
        drawn = [np.concatenate([plane.ravel() for plane in supply["planes"]])]
        numbers = supply["rows"]
        n_rows = len(supply["law"].strata)
        drawn += [numbers[row] for row in range(n_rows + 1) if row == n_rows or continuous(supply)]
        if any(len(np.unique(some)) < len(some) for some in drawn):
            return False
    return True


def continuous(supply):
    return not isinstance(supply["law"], Gaussians | UpperGaussians)


def compared(monkeypatch, selector, *, by_document=True, level=1.0, noise=None, **sizes):
    """Return the vectors of the fused steps, those of dense noise, and the latter."""
    noises, drawn_bars = Noises(), []
    monkeypatch.setattr(rows_module, "rounded_normals", noises)
    monkeypatch.setattr(rows_module, "_NOISE_AT_A_TIME", 300)  # many calls, and leftovers
    monkeypatch.setattr(module, "_VALUES_AT_A_TIME", 70)
    recorded = Recorded(monkeypatch, **sizes)
    original = module.rule_of

    def recording(selection):
        rule = original(selection)

        def bars(n, rng):
            drawn = rule.bars(n, rng)
            drawn_bars.extend(drawn)
            return drawn

        return replace(rule, bars=bars)

    records, gradients = instance(by_document)
    plan = planned(selector, records.n_records, level, noise)
    assert can_fuse_coordinates(plan, gradients)
    monkeypatch.setattr(module, "rule_of", recording)
    seen = []
    fused = fused_coordinates_dpsgd(
        plan, gradients, adam_of(plan), RandomSource.from_seed(3), seen.append, gradients.begin
    )
    assert seen[-1] == STEPS
    batches, rng = [], RandomSource.from_seed(3).spawn()
    for block in plan.sampler.blocks(records.n_records, STEPS, rng):
        batches += block.each()
    again = gradients_of(records, size=SIZE)
    again._records_of_test = records
    dense = Dense(recorded, noises, again)
    dense.is_fresh = is_fresh(recorded)
    return fused, dense.run(plan, adam_of(plan), batches, drawn_bars), dense


@pytest.mark.parametrize("level", LEVELS.values(), ids=LEVELS)
@pytest.mark.parametrize("selector", SELECTORS.values(), ids=SELECTORS)
def test_given_the_same_bits_vectors_are_those_of_dense_noise_bit_for_bit(
    selector, level, monkeypatch
):
    """Noise of every other coordinate, of whatever the first bits leave open, changes nothing."""
    fused, dense, found = compared(monkeypatch, selector, level=level)
    assert np.array_equal(fused, dense)
    assert found.is_fresh


@pytest.mark.parametrize("selector", ["gaussian, again", "exponential"])
def test_noise_that_changes_is_that_of_each_step(selector, monkeypatch):
    fused, dense, _ = compared(monkeypatch, SELECTORS[selector], noise=ExponentialDecay(0.3))
    assert np.array_equal(fused, dense)


@pytest.mark.parametrize("selector", ["gaussian", "exponential"])
def test_where_the_first_stratum_has_too_few_all_others_are_drawn(selector, monkeypatch):
    monkeypatch.setattr(coordinate_rules, "_expected", lambda n_selected: 0.7 * n_selected)
    fused, dense, found = compared(monkeypatch, SELECTORS[selector], level=3.0)
    assert found.fallbacks > 0
    assert np.array_equal(fused, dense)


def test_a_bar_so_low_that_others_may_reach_it_and_more_than_may_be_selected(monkeypatch):
    monkeypatch.setattr(coordinate_rules, "_SPREADS", -1e4)
    fused, dense, found = compared(monkeypatch, SELECTORS["sparse vector, low"])
    assert found.fallbacks
    assert found.cut
    assert np.array_equal(fused, dense)


@pytest.mark.parametrize("selector", ["exponential", "exponential, few"])
def test_scores_of_very_many_scales_are_told_from_the_border(selector, monkeypatch):
    fused, dense, _ = compared(monkeypatch, SELECTORS[selector], level=1e-5)
    assert np.array_equal(fused, dense)


@pytest.mark.parametrize("by_document", [True, False])
def test_examples_as_documents(by_document, monkeypatch):
    selector = SELECTORS["gaussian, again"]
    fused, dense, _ = compared(monkeypatch, selector, by_document=by_document)
    assert np.array_equal(fused, dense)
    assert not np.array_equal(fused, adam_of(planned(selector, 6)).values)


def bounds_too_low(monkeypatch):
    original = strata.StratifiedLaw.tops.func
    bar = property(lambda law: original(law)[1] + 1.0)
    low = property(lambda law: np.where(np.isinf(original(law)), np.inf, 0.2 * original(law)))
    monkeypatch.setattr(strata.StratifiedLaw, "tops", low)
    monkeypatch.setattr(strata.StratifiedLaw, "bar", bar)


def noise_used_twice(monkeypatch):
    original = supply_module.Supply.arrays

    def arrays(supply):
        pools, *others = original.fget(supply)
        pools[0, 1::2] = pools[0, ::2]
        return pools, *others

    monkeypatch.setattr(supply_module.Supply, "arrays", property(arrays))


@pytest.mark.parametrize("fault", [bounds_too_low, noise_used_twice])
def test_faults_are_found(fault, monkeypatch):
    fault(monkeypatch)
    fused, dense, _ = compared(monkeypatch, SELECTORS["gaussian"], level=0.1)
    assert not np.array_equal(fused, dense)


def planes_of_one_step(monkeypatch):
    original, kept = supply_module.Supply.planes, []

    def planes(supply, n_steps, *shape):
        kept.append(original(supply, 1, *shape))
        return np.repeat(kept[0], n_steps, axis=0)

    monkeypatch.setattr(supply_module.Supply, "planes", planes)


def noises_of_one_draw(monkeypatch):
    original, kept = strata.Exponentials.draw, {}

    def draw(law, place, out, rng):
        original(law, place, out, rng)
        out[:] = np.resize(kept.setdefault(place, out.copy()), len(out))

    monkeypatch.setattr(strata.Exponentials, "draw", draw)


@pytest.mark.parametrize("fault", [planes_of_one_step, noises_of_one_draw])
def test_bits_that_are_drawn_twice_are_found(fault, monkeypatch):
    fault(monkeypatch)
    _, _, found = compared(monkeypatch, SELECTORS["exponential"])
    assert not found.is_fresh


def released_by(run, selector, steps, level):
    """What each of many steps on the same vectors selects, and the values it releases."""
    records, gradients = instance()
    plan = planned(selector, records.n_records, level, steps=steps, rate=1.0)
    optimizer, moments = adam_of(plan, rate=0.0), [np.zeros(N)]

    def begin(made):
        gradients.begin(made)
        if made:
            moments.append(optimizer._first.copy())

    if run is dpsgd:
        run(plan, gradients, optimizer, RandomSource.from_seed(11), begin=begin)
    else:
        monkey = RandomSource.from_seed(12)
        run(plan, gradients, optimizer, monkey, begin=begin, every=1)
    first = np.array(moments)
    moved = first[1:] != first[:-1]
    values = (first[1:] - 0.9 * first[:-1])[moved] / 0.1
    return moved, values


#: Selectors and levels at which coordinates are selected neither always nor by chance alone.
LAWS = (
    ("gaussian, few", 0.1), ("gaussian, again", 0.1), ("exponential, few", 0.1),
    ("sparse vector, low", 0.3), ("sparse vector", 1.0), ("adafest", 2.0),
)  # fmt: skip


@pytest.mark.parametrize(("selector", "level"), LAWS)
def test_selections_and_values_have_the_law_of_the_loop(selector, level, monkeypatch):
    """Each coordinate as often, and values alike: false alarms of 1e-6, each among all tests."""
    monkeypatch.setattr(supply_module, "_NOISES", 2**10)
    steps, alarm = 700, 1e-6 / (len(LAWS) * (N + 2))
    here, values = released_by(fused_coordinates_dpsgd, SELECTORS[selector], steps, level)
    there, others = released_by(dpsgd, SELECTORS[selector], steps, level)
    for one, two in zip(here.T.sum(axis=1), there.T.sum(axis=1), strict=True):
        table = [[one, len(here) - one], [two, len(there) - two]]
        if 0 < one + two < len(here) + len(there):
            assert stats.fisher_exact(table).pvalue > alarm
    assert stats.ks_2samp(here.sum(axis=1), there.sum(axis=1)).pvalue > alarm
    assert stats.ks_2samp(values, others).pvalue > alarm


@pytest.mark.parametrize("selector", SELECTORS.values(), ids=SELECTORS)
def test_noise_on_scores_is_that_of_the_mechanism(selector):
    plan = planned(selector, 30, noise=ExponentialDecay(0.3))
    for multiplier in plan.multipliers():
        selection = plan.step_at(multiplier).selection
        rule = rule_of(selection)
        if rule.kind == RACE:
            assert isinstance(rule.law, Exponentials)
            assert rule.scale == selection.noise_scale
        elif isinstance(rule.law, Laplaces):
            epsilon, ratio = selection.epsilon, (2 * selection.n_selected) ** (2 / 3)
            reach = 2 * selection.n_selected * selection.sensitivity.value
            assert rule.scale == pytest.approx(reach * (1 + 1 / ratio) / epsilon, rel=1e-12)
        else:
            assert rule.law == replace(rule.law, noise_std=selection.noise_std)
            assert isinstance(rule.law, Gaussians if rule.kind == LARGEST else UpperGaussians)
            assert rule.scale == (1.0 if rule.kind == LARGEST else selection.grid)


def test_bars_of_the_sparse_vector_technique_have_the_noise_of_its_threshold():
    """Lyu, Su and Li (2017), epsilon split 1 : (2 c)^(2/3), in units of the noise on scores.

    A false alarm has probability 1e-7.
    """
    plan = planned(SELECTORS["sparse vector"], 30)
    selection = plan.step_at(next(plan.multipliers())).selection
    rule, reach, ratio = rule_of(selection), selection.sensitivity.value, 60 ** (2 / 3)
    of_threshold = reach * (1 + ratio) / selection.epsilon
    assert reach / of_threshold + 60 * reach / rule.scale == pytest.approx(selection.epsilon)
    bars = rule.bars(20_000, RandomSource.from_seed(5))
    assert stats.kstest(bars, stats.laplace(scale=of_threshold / rule.scale).cdf).pvalue > 1e-7


def test_only_steps_that_are_the_same_are_fused(monkeypatch):
    records, gradients = instance()
    plan = planned(SELECTORS["gaussian"], records.n_records)
    assert can_fuse_coordinates(plan, gradients)
    for selector in (AllCoordinates(), NoisyMaxSelector(3), PermuteAndFlipSelector()):
        assert not can_fuse_coordinates(replace(plan, selector=selector), gradients)
    numpy = gradients_of(records, size=SIZE, route="numpy")
    assert not can_fuse_coordinates(plan, numpy)
    monkeypatch.setattr(module, "MOST_COORDINATES", 128 * len(WORDS) - 1)
    assert not can_fuse_coordinates(plan, gradients)


LAWS_OF_NOISE = {
    "gaussian": lambda zeros: Gaussians(zeros, 3.0),
    "gaussian, largest first": lambda zeros: UpperGaussians(zeros, 3.0),
    "exponential": Exponentials,
    "laplace": Laplaces,
}


@pytest.mark.parametrize("zeros", [None, 0, 1, 4, 7])
@pytest.mark.parametrize("law", LAWS_OF_NOISE.values(), ids=LAWS_OF_NOISE)
def test_each_word_begins_as_its_stratum_does_and_as_no_other(law, zeros):
    made = law(zeros)
    words = RandomSource.from_seed(0).words(5000)
    begin = [
        words & np.uint64(s.beginning.mask) == np.uint64(s.beginning.value) for s in made.strata
    ]
    assert (np.sum(begin, axis=0) == 1).all()
    assert sum(stratum.probability for stratum in made.strata) == 1


@pytest.mark.parametrize("zeros", [0, 1, 4, 7])
@pytest.mark.parametrize("law", LAWS_OF_NOISE.values(), ids=LAWS_OF_NOISE)
def test_no_noise_is_beyond_its_bound_nor_a_first_one_below_the_bar(law, zeros):
    """Of the words of each stratum those with the smallest and the largest uniform, too."""
    made = law(zeros)
    for place, stratum in enumerate(made.strata):
        least = stratum.beginning.value
        most = least | (2**64 - 1 - stratum.beginning.mask) & ~(1 << 63)
        noises = np.empty(1002)
        made.draw(place, noises, Words([least | 1 << 52, most]))
        height = -np.log(noises) if isinstance(made, Exponentials) else noises
        height = abs(height) if isinstance(made, Gaussians) else height
        assert (height <= made.tops[place]).all()
        if place == 0:
            assert (height >= made.bar - 4 * made._spare).all()
        elif stratum.smallest:
            assert height.max() > made.tops[place] - 4 * made._spare


@pytest.mark.parametrize(
    ("law", "place"),
    [(law, place) for law, make in LAWS_OF_NOISE.items() for place in range(len(make(3).strata))],
)
def test_noise_of_a_stratum_has_the_law_of_the_noise_that_lies_there(law, place):
    """False alarms: 1e-8 each."""
    made = LAWS_OF_NOISE[law](3)
    stratum, noises = made.strata[place], np.empty(40_000)
    made.draw(place, noises, RandomSource.from_system())
    last = place == 4
    if isinstance(made, Exponentials):
        uniforms = 2 * np.exp(-noises) if last else -2 * np.expm1(-noises)
    elif isinstance(made, Laplaces):
        uniforms = np.exp(-abs(noises))
    else:
        uniforms = 2 * stats.norm.sf(abs(noises) / RoundedGaussian(3.0).width)
    width = 0.5**stratum.zeros - stratum.smallest
    assert stats.kstest(uniforms, stats.uniform(stratum.smallest, width).cdf).pvalue > 1e-8
    if isinstance(made, Gaussians):
        assert stats.binomtest(int((noises > 0).sum()), int((noises != 0).sum())).pvalue > 1e-8
    elif not isinstance(made, Exponentials):
        assert (noises <= 0 if last else noises >= 0).all()


class Words:
    """A source whose first words are given."""

    def __init__(self, first):
        self.first, self.rng = first, RandomSource.from_seed(1)

    def words(self, n):
        drawn = self.rng.words(n).copy()
        for place in range(min(n, len(self.first))):
            drawn[place] = self.first[place]
        self.first = ()
        return drawn


@pytest.mark.parametrize("kind", [LARGEST, RACE, REACHING])
def test_no_sum_below_the_least_one_has_the_score_and_hardly_any_above_has_not(kind):
    """For a sum at the border, its score; the bound is as close as it says."""
    from skdp.embedding import selection_kernels

    least_sum, score_of = (
        getattr(selection_kernels, name).py_func for name in ("least_sum", "score_of")
    )
    rng = np.random.default_rng(0)
    for _ in range(2000):
        grid, scale = 2.0 ** rng.integers(-40, 5), float(np.exp(rng.normal(0, 5)))
        shift = float(rng.choice([0.0, 1.0, -1.0]) * np.exp(rng.normal(0, 5)))
        measure, total = (kind, grid, shift, scale), float(rng.integers(2**40))
        score = score_of(measure, total)
        least = least_sum(measure, score)
        assert abs(total) >= least
        spread = 2.0**-38 * (abs(score * scale) + abs(shift)) / grid
        assert kind == LARGEST or total - least <= spread


NUMBERS = {
    "many": np.random.default_rng(0).normal(size=100),
    "equal": np.full(100, -3.0),
    "ties": np.random.default_rng(0).integers(4, size=100).astype(float),
    "far": np.append(np.random.default_rng(0).normal(size=99), -1e260),
}


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("k", [1, 2, 50, 99, 100])
def test_the_largest_are_kept_and_of_equal_ones_the_first_wherever_they_are_listed(kind, k):
    from skdp.embedding.largest_kernels import border_of, keep_largest
    from skdp.training.compiled_kernels import compiled

    @compiled
    def kept(ranks, k, where, values):
        return border_of(ranks, k), keep_largest(ranks, k, where, values)

    numbers, order = NUMBERS[kind], np.roll(np.arange(100), 30)  # two lists, each in order
    where, values = order.copy(), -numbers[order]
    border, n = kept(numbers[order], k, where, values)
    assert border == np.sort(numbers)[-k]
    assert n == k
    expected = np.argsort(-numbers, kind="stable")[:k]
    assert where[:k].tolist() == [i for i in order if i in expected]
    assert np.array_equal(values[:k], -numbers[where[:k]])


@pytest.mark.parametrize("second", [0, 1, 4, 9])
def test_two_lists_are_merged(second):
    from skdp.embedding.selection_kernels import put_in_order
    from skdp.training.compiled_kernels import compiled

    @compiled
    def merged(n, where, values):
        put_in_order(n, where, values)

    rng = np.random.default_rng(second)
    numbers = rng.permutation(30)[:10]
    where = np.concatenate([np.sort(numbers[second:]), np.sort(numbers[:second])])
    values = where + 0.5
    merged(10, where, values)
    assert np.array_equal(where, np.sort(numbers))
    assert np.array_equal(values, where + 0.5)


@pytest.mark.parametrize("n", [0, 1, 3, 4, 15, 16, 20, 100, 1003])
def test_products_are_sixteen_partial_sums_and_the_rest(n):
    from numba.core.errors import TypingError

    from skdp.embedding.dot_kernels import dot
    from skdp.training.compiled_kernels import compiled

    @compiled
    def product(first, second):
        return dot(first, second)

    first, second = np.random.default_rng(n).normal(size=(2, n))
    terms, sums = first * second, np.zeros((4, 4))
    for start in range(0, n - n % 16, 16):
        sums += terms[start : start + 16].reshape(4, 4)
    for start in range(n - n % 16, n - n % 4, 4):
        sums[0] += terms[start : start + 4]
    a, b, c, d = (sums[0] + sums[1]) + (sums[2] + sums[3])
    rest = sum(terms[n - n % 4 :].tolist())
    assert product(first, second) == ((a + b) + (c + d)) + rest
    with pytest.raises(TypingError, match="contiguous"):
        product(np.ones((3, 2))[:, 0], np.ones(3))
