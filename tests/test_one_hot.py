"""The private one-hot encoder: what it shows, and what a category of one person does to it."""

import warnings
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder

from skdp._random import RandomSource
from skdp.exceptions import PrivacyLeakWarning
from skdp.linear_model import PrivateRidgeClassifier
from skdp.mechanisms.stable_histogram import KeyedCounts, StableHistogram
from skdp.pipeline import make_private_pipeline
from skdp.preprocessing import PrivateOneHotEncoder, private_one_hot
from skdp.privacy import InMemoryLedger, Neighbours, PrivacyBudget, PrivacyLedger, PrivacyStatement
from skdp.privacy.accounting import delta_of
from skdp.privacy.gaussian_curve import gaussian_delta
from tests.support.attack import ERROR_RATE, accuses
from tests.support.lower_bound import Counts
from tests.support.refusals import SECRET_TEXT, refuses_to_fit
from tests.support.replay import violations

RELATIONS = [member.value for member in Neighbours]
N = 600
PLACES = np.array([["north", "f"], ["south", "m"], ["south", "f"]] * (N // 3), dtype=object)


def quiet(model, X):
    """Fit; a seeded fit warns that it is for tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        return model.fit(X)


# ------------------------------------------------------------------- the same as scikit-learn's


@pytest.mark.parametrize("sparse_output", [False, True])
@pytest.mark.parametrize("kind", ["text", "integers", "floats", "booleans", "frame"])
def test_where_all_categories_are_frequent_it_is_scikit_learns_encoder(kind, sparse_output):
    X = {
        "text": PLACES,
        "integers": np.arange(N).reshape(-1, 2) % 3,
        "floats": np.arange(N).reshape(-1, 2) % 3 / 2,
        "booleans": np.arange(N).reshape(-1, 2) % 3 > 1,
        "frame": pd.DataFrame(PLACES, columns=["place", "sex"]),
    }[kind]
    given = {"sparse_output": sparse_output, "handle_unknown": "ignore"}
    ours = PrivateOneHotEncoder(epsilon=20.0, **given).fit(X)
    theirs = OneHotEncoder(**given).fit(X)
    for mine, plain in zip(ours.categories_, theirs.categories_, strict=True):
        np.testing.assert_array_equal(mine, plain)
    np.testing.assert_array_equal(ours.get_feature_names_out(), theirs.get_feature_names_out())
    encoded = ours.transform(X)
    assert hasattr(encoded, "tocsr") is sparse_output
    dense = encoded.toarray() if sparse_output else encoded
    expected = theirs.transform(X)
    np.testing.assert_array_equal(dense, expected.toarray() if sparse_output else expected)
    np.testing.assert_array_equal(ours.inverse_transform(encoded), np.asarray(X, dtype=object))


@pytest.mark.parametrize("drop", [None, "first"])
@pytest.mark.parametrize("unknown", ["ignore", "infrequent_if_exist"])
def test_what_is_unknown_has_zeros_or_a_column_of_its_own(unknown, drop):
    encoder = PrivateOneHotEncoder(epsilon=20.0, handle_unknown=unknown, drop=drop).fit(PLACES)
    names = list(encoder.get_feature_names_out())
    row = dict(zip(names, encoder.transform([["nowhere", "m"]])[0], strict=True))
    assert row.get("x0_infrequent_sklearn", 0) == (unknown == "infrequent_if_exist")
    assert row["x1_m"] == 1
    assert ("x0_north" in names) is (drop is None)
    back = encoder.inverse_transform(encoder.transform([["north", "f"]]))
    assert back.tolist() == [["north", "f"]]
    if unknown == "infrequent_if_exist":
        back = encoder.inverse_transform(encoder.transform([["nowhere", "f"]]))
        assert back.tolist() == [["infrequent_sklearn", "f"]]


def test_a_category_is_kept_from_about_the_threshold_on():
    column = np.repeat(["rare", "middling", "common"], [3, 90, 900])[:, None]
    encoder = quiet(PrivateOneHotEncoder(min_frequency=60.0, random_state=0), column)
    assert encoder.threshold_ == 60.0
    assert encoder.categories_[0].tolist() == ["common", "middling"]
    np.testing.assert_allclose(encoder.counts_[0], [900, 90], atol=6 * encoder.noise_scale_)
    assert PrivateOneHotEncoder(min_frequency=1.0).fit(column).threshold_ > 20


def test_declared_categories_are_folded_by_noisy_counts_and_undeclared_ones_never_show():
    X = np.array([["a", "x"]] * 400 + [["b", "y"]] * 3 + [["c", "x"]] * 400, dtype=object)
    given = {"epsilon": 20.0, "min_frequency": 50}
    encoder = PrivateOneHotEncoder(["private", ["x", "y", "z"]], **given).fit(X)
    assert [own.tolist() for own in encoder.categories_] == [["a", "c"], ["x"]]
    encoder = PrivateOneHotEncoder([["a", "b"], ["x", "y", "z"]], **given)
    assert [own.tolist() for own in encoder.fit(X).categories_] == [["a"], ["x"]]
    assert any("Declared categories" in a for a in encoder.privacy_.assumptions)


@pytest.mark.parametrize(
    "missing", [[None] * 4, [np.nan] * 4, [None, np.nan, pd.NA, pd.NaT]], ids=str
)
def test_missing_values_of_any_kind_are_one_category(missing):
    column = np.array(["a"] * 400 + missing * 100, dtype=object)[:, None]
    encoder = PrivateOneHotEncoder(epsilon=20.0, handle_unknown="ignore").fit(column)
    assert list(encoder.get_feature_names_out()) == ["x0_a", "x0_nan"]
    np.testing.assert_array_equal(encoder.transform([[None], ["a"]]), [[0, 1], [1, 0]])
    numbers = np.array([[1.0], [np.nan]] * 300)
    assert np.isnan(PrivateOneHotEncoder(epsilon=20.0).fit(numbers).categories_[0][1])


def test_one_row_never_decides_how_a_number_is_written():
    zeros = np.zeros((500, 1))
    negative = zeros.copy()
    negative[0] = -0.0
    mixed = zeros.astype(object)
    mixed[0, 0] = False
    halves = [[0]] * 499 + [[0.5]]
    truths = [[False]] * 499 + [[7]]
    missing = pd.DataFrame({"x0": [0] * 499 + [None]})
    for X in (zeros, negative, mixed, halves, truths, missing, zeros.astype(np.int64)):
        encoder = PrivateOneHotEncoder(epsilon=20.0).fit(X)
        assert encoder.get_feature_names_out()[0] == "x0_0"
        assert encoder.categories_[0].tolist() == [0]


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_frames_of_any_kind_are_read_and_given(output):
    frame = pd.DataFrame({"place": pd.Categorical(["a", "b"] * 200), "n": [1, None] * 200})
    encoder = PrivateOneHotEncoder(epsilon=20.0).set_output(transform=output)
    out = encoder.fit_transform(frame)
    assert list(out.columns)[:3] == ["place_a", "place_b", "place_infrequent_sklearn"]
    polars = pytest.importorskip("polars")
    same = clone(encoder).fit(polars.DataFrame({name: frame[name].tolist() for name in frame}))
    assert list(same.get_feature_names_out()) == list(out.columns)


@pytest.mark.parametrize(
    ("X", "match"),
    [
        (np.array([[SECRET_TEXT], [3.0]], dtype=object), "not both in one column"),
        (np.array([[SECRET_TEXT], [{}]], dtype=object), "string or a real number"),
        (np.array([[SECRET_TEXT], [np.inf]], dtype=object), "not both in one column"),
        (np.array([["2020-01-01"]], dtype="datetime64[s]"), "text"),
        (np.array([SECRET_TEXT] * 3), "2-D"),
        (np.ma.masked_array([[8675309]], mask=[[True]]), "masked"),
    ],
)
def test_what_is_no_table_of_categories_is_refused_without_a_quote(X, match):
    refuses_to_fit(PrivateOneHotEncoder(neighbours="replace-one"), X, match=match)


@pytest.mark.parametrize(
    "parameters",
    [
        {"categories": [["a"]]},
        {"categories": [["a"], "auto"]},
        {"categories": [["a", "a"], "private"]},
        {"categories": [["a", 1], "private"]},
        {"delta": 0.0},
        {"dtype": "U3"},
        {"epsilon": 1e-12, "delta": 1e-12},
    ],
)
def test_bad_parameters_are_refused_before_anything_is_spent(parameters):
    model = PrivateOneHotEncoder(neighbours="replace-one", **parameters)
    refuses_to_fit(model, PLACES, match=next(iter(parameters)))


# --------------------------------------------------------------------------- what it costs


def exact_delta(histogram, epsilon, n_columns):
    """The greatest delta over pairs of rows, by the case distinction of Wilkins et al.

    k and l columns hold a category that only the old and only the new row has.
    """
    hidden = stats.norm.cdf((histogram.threshold - 1) / histogram.noise_std)
    replaced = histogram.sensitivity.neighbours is Neighbours.REPLACE_ONE
    worst = 0.0
    n_hidden = len(histogram.hidden)
    for k in range(n_hidden + 1):
        for l in range((n_hidden if replaced else 0) + 1):  # noqa: E741
            moved = n_columns * (1 + replaced) - k - l
            shown, others = hidden**k, hidden**l
            for first, second in ((shown, others), (others, shown)):
                shift = epsilon + np.log(second / first)
                curve = gaussian_delta(np.sqrt(moved) / histogram.noise_std, shift) if moved else 0
                worst = max(worst, 1 - first + first * curve)
    return worst


@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize(("n_columns", "n_hidden"), [(1, 1), (4, 4), (40, 40), (4, 1), (4, 0)])
@pytest.mark.parametrize("budget", [PrivacyBudget(1.0, 1e-6), PrivacyBudget(0.1, 1e-3)])
def test_the_exact_delta_is_below_what_is_stated_and_near_it(relation, n_columns, n_hidden, budget):
    declared = tuple((column, "a") for column in range(n_hidden, n_columns))
    histogram = StableHistogram.calibrated(relation, budget, n_columns=n_columns, declared=declared)
    assert len(histogram.hidden) == n_hidden
    exact = exact_delta(histogram, budget.epsilon, n_columns)
    stated = delta_of(histogram.event, budget.epsilon)
    assert 0.85 * budget.delta < exact <= stated * (1 + 1e-9)
    assert stated <= budget.delta


@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize(("n_columns", "n_hidden"), [(1, 1), (3, 3), (3, 1)])
def test_what_the_noise_drawn_does_to_the_worst_pairs_is_within_the_budget(
    relation, n_columns, n_hidden
):
    """By the exact law of the rounded noise, for every number of keys that one record alone has."""
    budget = PrivacyBudget(0.5, 0.05)
    declared = tuple((column, "a") for column in range(n_hidden, n_columns))
    histogram = StableHistogram.calibrated(relation, budget, n_columns=n_columns, declared=declared)
    noise = histogram._noise
    least = np.ceil((histogram.threshold - 1) / noise.grid)  # the first integer that shows
    hidden = stats.norm.cdf((least - 0.5) / noise.width)
    replaced = relation is Neighbours.REPLACE_ONE
    one, factor, found = 1 + replaced, np.exp(budget.epsilon), []
    for own in range(n_hidden + 1):
        for others in range((n_hidden if replaced else 0) + 1):
            moved = np.sqrt(one * n_columns - own - others)
            points = np.linspace(-40, 40, 80_001) * histogram.noise_std
            laws = [stats.norm.pdf(points, at, histogram.noise_std) for at in (moved, 0.0)]
            for first, second in ((own, others), (others, own)):
                p, q = hidden**first, hidden**second
                excess = np.maximum(p * laws[0] - factor * q * laws[1], 0)
                found.append(1 - p + np.trapezoid(excess, points))
    assert 0.8 * budget.delta < max(found) <= budget.delta * (1 + 1e-6)


@pytest.mark.parametrize(("n_columns", "n_hidden"), [(1, 0), (3, 1)])
def test_a_category_that_nobody_declared_never_shows_in_a_column_that_is_declared(
    n_columns, n_hidden
):
    """Whatever a caller counts: of such keys the threshold and delta take no account."""
    declared = tuple((column, "a") for column in range(n_hidden, n_columns))
    histogram = StableHistogram.calibrated(
        Neighbours.ZERO_OUT, PrivacyBudget(1.0, 1e-6), n_columns=n_columns, declared=declared
    )
    counts = {(column, "hers"): 1e6 for column in range(n_columns + 2)}
    released = histogram.release(KeyedCounts(counts), RandomSource.from_seed(0))
    undeclared = {key for key in released.keys if key not in declared}
    assert undeclared == {(column, "hers") for column in range(n_hidden)}


def test_a_category_of_no_record_never_shows_unless_it_is_declared():
    histogram = StableHistogram.calibrated(
        Neighbours.ZERO_OUT, PrivacyBudget(1.0, 0.9), n_columns=1
    )
    counts = KeyedCounts({(0, place): 0.0 for place in range(1000)})
    assert histogram.release(counts, RandomSource.from_seed(0)).keys == ()


def test_counts_have_gaussian_noise_of_the_stated_width():
    histogram = StableHistogram.calibrated(
        Neighbours.ZERO_OUT, PrivacyBudget(1.0, 1e-6), n_columns=2
    )
    counts = KeyedCounts({(0, place): 1000.0 for place in range(4000)})
    released = histogram.release(counts, RandomSource.from_seed(0))
    noise = (released.at(counts.keys) - 1000) / histogram.noise_std
    assert stats.kstest(noise, "norm").pvalue > 1e-4  # of this seed


@pytest.mark.parametrize("filter", ["renyi", "gaussian", "basic"])
def test_every_kind_of_ledger_takes_it(filter, tmp_path):
    path = tmp_path / "l.db"
    PrivacyLedger.create(path, 2.0, 4e-6, neighbours="zero-out", filter=filter)
    encoder = PrivateOneHotEncoder(ledger=path).fit(PLACES)
    assert PrivacyStatement.from_dict(encoder.privacy_.to_dict()) is not None


def test_in_a_pipeline_it_is_a_private_step():
    ledger = InMemoryLedger(4.0, 1e-5, Neighbours.ZERO_OUT)
    frame = pd.DataFrame(PLACES, columns=["place", "sex"])
    model = make_private_pipeline(
        ColumnTransformer([("c", PrivateOneHotEncoder(), ["place", "sex"])], sparse_threshold=0),
        PrivateRidgeClassifier(classes=[0, 1], neighbours="zero-out"),
        epsilon=4.0,
        delta=1e-5,
        ledger=ledger,
    ).fit(frame, np.arange(N) % 2)
    assert model.check_.private[0] == "columntransformer__c"
    assert model.privacy_.epsilon == 4.0


# --------------------------------------------------------------------------- what it shows


@contextmanager
def null_row():
    """Row 0 counts nowhere: the null record of zero-out."""
    true = private_one_hot.category_counts

    def without(columns, known):
        return true([column[1:] for column in columns], known)

    private_one_hot.category_counts = without
    try:
        yield
    finally:
        private_one_hot.category_counts = true


def replay(model, relation, first=("nobody else's", None)):
    rows = PLACES.copy()
    rows[0] = first
    model = clone(model).set_params(neighbours=relation, epsilon=20.0)
    if relation == "zero-out":
        return violations(model, (rows,), (rows,), around_neighbour=null_row)
    other = rows[1:].copy()
    if relation == "replace-one":
        other = rows.copy()
        other[0] = ("a new one", "of another kind")
    return violations(model, (rows,), (other,))


MODELS = [
    PrivateOneHotEncoder(),
    PrivateOneHotEncoder(drop="first", sparse_output=True, handle_unknown="ignore"),
    PrivateOneHotEncoder(["private", ["f", "m", None]]),
]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("relation", RELATIONS)
def test_neighbours_differ_in_the_release_alone(model, relation):
    assert replay(model, relation) == []
    assert replay(model, relation, ("north", "f")) == []


def shows(histogram, fits, seed):
    """How often the only row with a category makes it show, against a row that has none."""
    rng = RandomSource.from_seed(seed)
    counts = KeyedCounts({(0, "common"): 500.0, (0, "hers"): 1.0})
    hits = sum((0, "hers") in histogram.release(counts, rng).counts for _ in range(fits))
    return Counts(hits, fits, 0, fits, ERROR_RATE)


def test_a_category_of_one_person_shows_as_rarely_as_is_stated():
    budget = PrivacyBudget(1.0, 0.5)
    histogram = StableHistogram.calibrated(Neighbours.ZERO_OUT, budget, n_columns=1)
    counts = shows(histogram, 4000, seed=0)
    assert histogram.delta_rare == pytest.approx(0.05, rel=1e-3)
    # Six standard errors are 0.021.
    assert counts.hits / 4000 == pytest.approx(0.05, abs=0.021)
    assert not accuses(counts, budget.epsilon, budget.delta)


def shown_by_fitting(fits, **given):
    """How often fits show a name that one of two rows has, and that the neighbour has not."""
    rows = (np.array([["hers"], ["his"]]), np.array([["his"], ["his"]]))
    hits = []
    for X in rows:
        with warnings.catch_warnings(action="ignore", category=PrivacyLeakWarning):
            models = [PrivateOneHotEncoder(delta=0.3, **given).fit(X) for _ in range(fits)]
        hits.append(sum("hers" in model.categories_[0].tolist() for model in models))
    return Counts(hits[0], fits, hits[1], fits, ERROR_RATE)


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["replace-one", "zero-out"])
def test_fitting_itself_shows_no_more_than_is_claimed(relation):
    counts = shown_by_fitting(3000, neighbours=relation)
    assert counts.hits_other == 0
    assert counts.hits > 0  # 3 % of 3,000; none has a probability below 1e-30
    assert not accuses(counts, 1.0, 0.3)


class TestPlantedBugs:
    """What the tests must see."""

    def test_a_threshold_of_zero(self):
        budget = PrivacyBudget(1.0, 1e-6)
        honest = StableHistogram.calibrated(Neighbours.ZERO_OUT, budget, n_columns=1)
        bad = StableHistogram(honest.sensitivity, 1, honest.noise_std, 0.0, (0,))
        assert accuses(shows(bad, 4000, seed=1), budget.epsilon, budget.delta)
        assert not accuses(shows(honest, 4000, seed=1), budget.epsilon, budget.delta)
        assert delta_of(bad.event, 1.0) > 0.5
        worse = StableHistogram(honest.sensitivity, 1, honest.noise_std, -100.0, (0,))
        assert delta_of(worse.event, 1.0) == pytest.approx(1.0)

    @pytest.mark.parametrize("relation", RELATIONS)
    def test_columns_that_are_charged_one_by_one(self, relation, monkeypatch):
        true = StableHistogram.calibrated

        def cheap(neighbours, budget, *, n_columns, **given):
            return true(neighbours, budget, n_columns=1, **given)

        monkeypatch.setattr(StableHistogram, "calibrated", cheap)
        assert replay(MODELS[0], relation) == ["an input moved by 1.414 x its bound"]

    def test_categories_that_are_kept_because_they_occur(self, monkeypatch):
        true = private_one_hot.paid_release

        def keeps_all(transformer, mechanism, value, **given):
            true(transformer, mechanism, value, **given)
            return value()

        monkeypatch.setattr(private_one_hot, "paid_release", keeps_all)
        assert "attribute categories_ changed" in replay(MODELS[0], "replace-one")

    def test_a_delta_that_counts_one_column_of_many(self):
        """The chance that any of 40 columns shows is 40 times that of one."""
        budget = PrivacyBudget(1.0, 1e-6)
        honest = StableHistogram.calibrated(Neighbours.ZERO_OUT, budget, n_columns=40)
        declared = tuple((column, "a") for column in range(1, 40))
        one = StableHistogram.calibrated(
            Neighbours.ZERO_OUT, budget, n_columns=40, declared=declared
        ).threshold
        bad = StableHistogram(honest.sensitivity, 40, honest.noise_std, one, tuple(range(40)))
        assert exact_delta(bad, 1.0, 40) > 2 * budget.delta
