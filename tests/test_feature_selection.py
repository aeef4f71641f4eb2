"""PrivateSelectKBest and PrivateSelectFromModel: what they select, promise and refuse."""

import itertools
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from skdp.exceptions import BudgetExceededError, PrivacyLeakWarning
from skdp.feature_selection import PrivateSelectFromModel, PrivateSelectKBest
from skdp.feature_selection.scores import ClassTarget, FeatureScore, NumberTarget, RowBounds
from skdp.feature_selection.top_k import noise_floor
from skdp.linear_model import (
    PrivateElasticNet,
    PrivateElasticNetClassifier,
    SparseDPSGDClassifier,
)
from skdp.pipeline import pipeline_statement
from skdp.preprocessing import RowNormClipper
from skdp.privacy import InMemoryLedger, Neighbours
from skdp.privacy.accounting import epsilon_of
from tests.support.neighbours import recorded
from tests.support.refusals import SECRET_TEXT, refuses, refuses_to_fit
from tests.support.replay import Trace, frozen_releases

N, D = 300, 40
RNG = np.random.default_rng(0)
BINARY = np.arange(N) % 2
THREE = np.arange(N) % 3
NUMBERS = RNG.uniform(-2, 4, size=N)
X = RNG.uniform(-1, 1, size=(N, D))


def recorded_scores(selector, rows, y):
    return recorded(clone(selector), (rows, y))[1]


# Scores ------------------------------------------------------------------------------------------


def test_the_score_of_two_classes_is_n_times_the_absolute_covariance():
    expected = N * np.abs(np.cov(BINARY, X.T, bias=True)[0, 1:])
    np.testing.assert_allclose(recorded_scores(PrivateSelectKBest(), X, BINARY), expected)


def test_the_score_of_three_classes_is_half_the_sum_over_their_indicators():
    found = recorded_scores(PrivateSelectKBest(), X, THREE)
    each = [np.abs(np.cov(c == THREE, X.T, bias=True)[0, 1:]) for c in range(3)]
    np.testing.assert_allclose(found, N * sum(each) / 2)


def test_the_score_of_numbers_is_n_times_the_covariance_of_clipped_values():
    selector = PrivateSelectKBest(y_range=(-1, 2), value_range=(-0.5, 0.25))
    found = recorded_scores(selector, X, NUMBERS)
    y, rows = np.clip(NUMBERS, -1, 2), np.clip(X, -0.5, 0.25)
    np.testing.assert_allclose(found, N * np.abs(np.cov(y, rows.T, bias=True)[0, 1:]))


def test_a_product_is_centred_at_declared_shares_and_middles():
    selector = PrivateSelectKBest("product", value_range=(-1, 3), class_shares=[0.6, 0.4])
    found = recorded_scores(selector, X, BINARY)
    np.testing.assert_allclose(found, np.abs((BINARY - 0.4) @ (X - 1)))
    selector = PrivateSelectKBest("product", value_range=(-1, 3), y_range=(-2, 4))
    found = recorded_scores(selector, X, NUMBERS)
    np.testing.assert_allclose(found, np.abs((NUMBERS - 1) @ (X - 1)))


def test_clipped_rows_are_those_of_the_clipper():
    selector = PrivateSelectKBest(value_range=(-0.5, 0.7), row_norm=1.2)
    rows = RowNormClipper(row_norm=1.2).fit_transform(np.clip(X, -0.5, 0.7))
    expected = N * np.abs(np.cov(BINARY, rows.T, bias=True)[0, 1:])
    np.testing.assert_allclose(recorded_scores(selector, X, BINARY), expected)


def test_all_ways_to_store_rows_give_the_same_scores():
    rows = np.where(X > 0.5, X, 0.0).astype(np.float32)
    dense = recorded_scores(PrivateSelectKBest(), rows, BINARY)
    for container in (sparse.csr_matrix, sparse.csr_array, sparse.coo_array, pd.DataFrame):
        found = recorded_scores(PrivateSelectKBest(), container(rows), BINARY)
        np.testing.assert_allclose(found, dense, atol=1e-12)


def test_many_rows_are_summed_in_blocks():
    rows, y = np.tile(X, (8, 1)), np.tile(THREE, 8)
    found = recorded_scores(PrivateSelectKBest(), rows, y)
    np.testing.assert_allclose(found, 8 * recorded_scores(PrivateSelectKBest(), X, THREE))


def test_a_constant_column_scores_nothing_wherever_it_lies_with_covariance_alone():
    rows = np.column_stack([X, np.full(N, 0.9)])
    unbalanced = (np.arange(N) % 4 == 0).astype(int)
    assert recorded_scores(PrivateSelectKBest(), rows, unbalanced)[-1] < 1e-9
    assert recorded_scores(PrivateSelectKBest("product"), rows, unbalanced)[-1] > 0.2 * N


# Selection ---------------------------------------------------------------------------------------


def informative(n=4000, d=2000, sizes=(0.8, 0.6)):
    """Columns 3 and 5 differ between classes by so much."""
    rows = np.random.default_rng(1).uniform(-0.5, 0.5, size=(n, d))
    y = np.arange(n) % 2
    for place, size in zip((3, 5), sizes, strict=True):
        rows[:, place] += size * (y - 0.5)
    return rows, y


@pytest.mark.parametrize("mechanism", ["auto", "exponential", "gaussian"])
def test_informative_columns_are_found_among_thousands(mechanism):
    rows, y = informative()
    norm = 12.0 if mechanism == "gaussian" else None
    selector = PrivateSelectKBest(k=2, epsilon=2.0, mechanism=mechanism, row_norm=norm)
    assert selector.fit(rows, y).get_support(indices=True).tolist() == [3, 5]


def test_it_is_a_transformer_with_names_outputs_and_an_inverse():
    rows, y = informative(d=50)
    frame = pd.DataFrame(rows, columns=[f"gene {j}" for j in range(50)])
    selector = PrivateSelectKBest(k=2, epsilon=20.0).set_output(transform="pandas")
    found = selector.fit_transform(frame, y)
    assert found.columns.tolist() == selector.get_feature_names_out().tolist()
    assert found.columns.tolist() == ["gene 3", "gene 5"]
    back = selector.set_output(transform="default").inverse_transform(found.to_numpy())
    assert back.shape == rows.shape
    assert np.array_equal(back[:, [3, 5]], rows[:, [3, 5]])
    assert np.count_nonzero(back.any(axis=0)) == 2


def test_sparse_rows_stay_sparse_both_ways():
    rows, y = informative(d=50)
    csr = sparse.csr_array(rows)
    selector = PrivateSelectKBest(k=2, epsilon=20.0).fit(csr, y)
    few = selector.transform(csr)
    assert sparse.issparse(few)
    assert np.array_equal(few.toarray(), rows[:, [3, 5]])
    assert selector.inverse_transform(few).shape == rows.shape


def test_where_there_are_fewer_columns_than_k_all_are_kept():
    assert PrivateSelectKBest(k=99).fit(X, BINARY).get_support().all()


def test_classes_may_be_strings_and_absent_when_declared():
    labels = np.array(["no", "yes"])[BINARY]
    selector = PrivateSelectKBest(k=3, classes=["no", "perhaps", "yes"]).fit(X, labels)
    assert selector.classes_.tolist() == ["no", "perhaps", "yes"]


# Budget ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["exponential", "gaussian"])
@pytest.mark.parametrize(
    ("epsilon", "delta", "k"), [(1.0, 1e-6, 1), (0.3, 1e-8, 7), (9.0, 1e-5, 3)]
)
def test_the_whole_budget_is_used_and_no_more(mechanism, epsilon, delta, k):
    selector = PrivateSelectKBest(k=k, epsilon=epsilon, delta=delta, mechanism=mechanism)
    event = selector.fit(X, BINARY).privacy_.event
    assert epsilon * (1 - 1e-5) < epsilon_of(event, delta) <= epsilon


def test_pure_picks_share_epsilon():
    selector = PrivateSelectKBest(k=5, epsilon=2.0, delta=0.0).fit(X, BINARY)
    assert selector.privacy_.event.picks == 5
    assert selector.privacy_.event.epsilon == pytest.approx(0.4, rel=1e-8)
    assert 5 * selector.privacy_.event.epsilon <= 2.0
    assert 0 < selector.privacy_.delta < 1e-30
    expected = 2 * selector.sensitivity_.value / 0.4
    assert selector.noise_scale_ == pytest.approx(expected, rel=1e-8)


def test_composed_picks_need_less_noise_than_pure_ones():
    scales = [
        PrivateSelectKBest(k=20, delta=delta).fit(X, BINARY).noise_scale_ for delta in (0.0, 1e-6)
    ]
    assert scales[1] < scales[0] / 2


def test_the_cost_of_gaussian_noise_does_not_depend_on_k():
    scales = {
        PrivateSelectKBest(k=k, mechanism="gaussian").fit(X, BINARY).noise_scale_ for k in (1, 30)
    }
    assert len(scales) == 1


@pytest.mark.parametrize("epsilon", [1e-3, 39.0, 1e6])
def test_extreme_budgets_are_stated(epsilon):
    for delta, k in itertools.product((0.0, 1e-12), (1, D)):
        statement = PrivateSelectKBest(k=k, epsilon=epsilon, delta=delta).fit(X, BINARY).privacy_
        assert statement.epsilon == epsilon
        assert statement.delta_at(epsilon) <= max(delta, 1e-30)


def test_auto_takes_the_mechanism_with_the_lower_noise_floor():
    wide = {"value_range": (-1.0, 1.0), "row_norm": 1.0}
    for k, bounds in ((1, {}), (30, {}), (1, wide), (30, wide)):
        fitted = {
            name: PrivateSelectKBest(k=k, mechanism=name, **bounds).fit(X, BINARY)
            for name in ("auto", "exponential", "gaussian")
        }
        least = min(fitted["exponential"].noise_floor_, fitted["gaussian"].noise_floor_)
        assert fitted["auto"].noise_floor_ == pytest.approx(least, rel=1e-9)
    assert fitted["gaussian"].noise_floor_ < fitted["exponential"].noise_floor_


def test_of_two_bounds_the_exponential_mechanism_takes_the_better():
    """Values up to 1 in rows of norm 1: each score moves by 2 at most, the vector by 2 as well."""
    score = FeatureScore(ClassTarget(2), RowBounds((0.0, 1.0), 1.0), N, D)
    assert score.sensitivity("linf").value == pytest.approx(1.0, rel=0.01)
    assert score.sensitivity("l2").value == pytest.approx(2.0, rel=0.01)
    fitted = PrivateSelectKBest(value_range=(-1, 1), row_norm=1.0, mechanism="exponential")
    assert fitted.fit(X, BINARY).sensitivity_.norm == "l2"
    assert clone(fitted).set_params(value_range=(0, 1)).fit(X, BINARY).sensitivity_.norm == "linf"
    assert clone(fitted).set_params(row_norm=None).fit(X, BINARY).sensitivity_.norm == "linf"


def test_declared_shares_halve_what_a_record_can_do_at_best():
    declared = ClassTarget(2, np.array([0.5, 0.5]))
    for norm in ("l2", "linf"):
        bounds = RowBounds((-1.0, 1.0), None)
        moved = [
            FeatureScore(target, bounds, N, D).sensitivity(norm).value
            for target in (ClassTarget(2), declared)
        ]
        assert moved[1] / moved[0] == pytest.approx(0.5, rel=0.01)
    assert NumberTarget(-1.0, 3.0, np.zeros(1)).largest_deviation == 2.0


def test_a_ledger_is_charged_once_for_all_picks():
    ledger = InMemoryLedger(1.5, 1e-5)
    selector = PrivateSelectKBest(k=5, ledger=ledger).fit(X, BINARY)
    assert [entry.purpose for entry in ledger.history()] == ["PrivateSelectKBest.fit"]
    assert ledger.remaining().epsilon == pytest.approx(0.5)
    with pytest.raises(BudgetExceededError):
        selector.fit(X, BINARY)
    assert len(ledger.history()) == 1


def test_the_statement_names_what_it_rests_on():
    selector = PrivateSelectKBest(
        "product", value_range=(-2, 2), row_norm=3.0, classes=[0, 1], class_shares=[0.5, 0.5],
        mechanism="exponential",
    )  # fmt: skip
    statement = selector.fit(X, BINARY).privacy_
    text = statement.explain()
    assert statement.neighbours is Neighbours.REPLACE_ONE
    for words in ("(-2.0, 2.0)", "norm 3.0", "classes was declared", "shares were declared", "k "):
        assert words in text.replace("\n", " ").replace("  ", " ")
    assert "Durfee and Rogers (2019)" in statement.theorem
    assert pickle.loads(pickle.dumps(selector)).privacy_.to_json() == statement.to_json()


def test_a_seed_warns_and_is_not_saved():
    with pytest.warns(PrivacyLeakWarning) as caught:
        selector = PrivateSelectKBest(random_state=0).fit(X, BINARY)
    assert caught[0].filename == __file__
    assert "seed" in selector.privacy_.noise
    assert pickle.loads(pickle.dumps(selector)).random_state is None


def test_a_pipeline_of_both_private_steps_is_stated_as_a_whole():
    pipeline = make_pipeline(
        PrivateSelectKBest(k=3, epsilon=0.5), PrivateElasticNetClassifier(epsilon=0.5, delta=1e-6)
    ).fit(X, BINARY)
    statement = pipeline_statement(pipeline)
    assert statement.epsilon <= 1.0
    assert statement.delta <= 2e-6


# Refusals ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"value_range": None}, "Declare a value_range or a row_norm"),
        ({"value_range": (1.0, 1.0)}, "increasing pair"),
        ({"value_range": (2.0, 1.0)}, "increasing pair"),
        ({"value_range": (0.0, math.inf)}, "increasing pair"),
        ({"value_range": (0.0, 1.0, 2.0)}, "pair of numbers"),
        ({"value_range": ("a", "b")}, "pair of numbers"),
        ({"value_range": (1.0, 2.0), "row_norm": 1.0}, "must contain 0"),
        ({"y_range": (1.0, 0.0)}, "increasing pair"),
        ({"class_shares": [0.5, 0.5]}, "score_func='product'"),
        ({"score_func": "product", "class_shares": [0.5, 0.6]}, "sum of 1"),
        ({"score_func": "product", "class_shares": [1.5, -0.5]}, "sum of 1"),
        ({"score_func": "product", "class_shares": ["a", "b"]}, "sum of 1"),
        ({"score_func": "f_classif"}, "score_func"),
        ({"k": 0}, "k"),
        ({"mechanism": "gaussian", "delta": 0.0}, "delta=0"),
        ({"delta": 0.0, "epsilon": 1e-12}, "epsilon is too small"),
        ({"classes": [0, 2]}, "outside of the declared classes"),
    ],
)
def test_what_cannot_be_bounded_is_refused_before_anything_is_spent(parameters, match):
    refuses_to_fit(PrivateSelectKBest(**parameters), X, BINARY, match=match)


def test_sparse_rows_need_a_range_that_contains_zero():
    refuses_to_fit(
        PrivateSelectKBest(value_range=(0.5, 1.0)),
        sparse.csr_array(X),
        BINARY,
        match="must contain 0",
    )


def test_no_refusal_quotes_a_cell():
    cells = X.astype(object)
    cells[1, 0] = SECRET_TEXT
    refuses_to_fit(PrivateSelectKBest(), cells, BINARY, match="could not be read as numbers")
    selector = PrivateSelectKBest(k=3).fit(X, BINARY)
    refuses(lambda: selector.transform(cells), "could not be read as numbers")
    refuses(lambda: selector.inverse_transform(cells[:, :3]), "could not be read as numbers")
    refuses(lambda: selector.inverse_transform(X), "different shape")


# From a model ------------------------------------------------------------------------------------


def test_a_model_selects_what_it_keeps_for_its_own_price():
    rows, y = informative(d=10)
    ledger = InMemoryLedger(2.0, 1e-5)
    model = PrivateElasticNetClassifier(
        epsilon=2.0, threshold="auto", row_norm=1.5, ledger=ledger, random_state=0
    )
    selector = PrivateSelectFromModel(model).fit(rows, y)
    assert selector.privacy_ is selector.estimator_.privacy_
    assert np.array_equal(selector.get_support(), selector.estimator_.get_support())
    assert {3, 5} <= set(selector.get_support(indices=True))
    assert [entry.purpose for entry in ledger.history()] == ["PrivateElasticNetClassifier.fit"]
    assert selector.transform(rows).shape == (len(rows), selector.get_support().sum())


def test_threshold_and_max_features_choose_by_released_weights():
    rows, y = informative(d=10)
    model = PrivateElasticNetClassifier(epsilon=20.0, row_norm=1.5).fit(rows, y)
    weights = np.abs(model.coef_[0])
    frozen = FrozenEstimator(model)
    limit = np.sort(weights)[-3]
    at_limit = PrivateSelectFromModel(frozen, threshold=limit).fit(rows, y)
    assert np.array_equal(at_limit.get_support(), weights >= limit)
    few = PrivateSelectFromModel(frozen, max_features=2).fit(rows, y)
    assert few.get_support(indices=True).tolist() == np.sort(np.argsort(weights)[-2:]).tolist()
    fewer = PrivateSelectFromModel(frozen, threshold=limit, max_features=9).fit(rows, y)
    assert fewer.get_support().sum() == 3


def test_the_default_is_the_elastic_net_with_a_threshold_tied_to_its_noise():
    rows, y = informative(d=10)
    selector = PrivateSelectFromModel().fit(rows, y)
    model = selector.estimator_
    assert model.threshold == "auto"
    assert model.threshold_ > 0
    assert np.array_equal(selector.get_support(), np.abs(model.coef_[0]) >= model.threshold_)


def test_a_frozen_model_reads_no_data_and_spends_nothing():
    frame = pd.DataFrame(X[:, :4], columns=list("abcd"))
    ledger = InMemoryLedger(1.0)
    model = PrivateElasticNetClassifier(ledger=ledger).fit(frame, BINARY)
    trace = Trace()
    with frozen_releases(trace):
        selector = PrivateSelectFromModel(FrozenEstimator(model), max_features=2).fit(None)
    assert trace.inputs == []
    assert len(ledger.history()) == 1
    assert selector.n_features_in_ == 4
    assert selector.feature_names_in_.tolist() == list("abcd")
    assert selector.get_feature_names_out().size == 2
    assert selector.privacy_ is model.privacy_


@pytest.mark.parametrize(
    ("model", "rows", "y"),
    [
        (PrivateElasticNetClassifier(epsilon=10.0), X, THREE),
        (PrivateElasticNet(epsilon=10.0), X, NUMBERS),
        (SparseDPSGDClassifier(delta=1e-5, selector="gaussian"), sparse.csr_array(X), BINARY),
    ],
)
def test_any_private_model_with_weights_serves(model, rows, y):
    selector = PrivateSelectFromModel(model, max_features=5).fit(rows, y)
    assert 0 < selector.get_support().sum() <= 5
    assert selector.transform(rows).shape[1] == selector.get_support().sum()


def test_weights_are_handed_on():
    selector = PrivateSelectFromModel(PrivateElasticNetClassifier(threshold=0.0))
    assert selector.fit(X, BINARY, sample_weight=np.ones(N)).get_support().all()


def test_an_estimator_without_a_statement_is_refused_before_it_is_fitted():
    class Spy(LogisticRegression):
        def fit(self, X, y):
            raise AssertionError("it was fitted")

    for model in (Spy(), FrozenEstimator(LogisticRegression().fit(X, BINARY))):
        with pytest.raises(ValueError, match="makes no privacy statement") as caught:
            PrivateSelectFromModel(model).fit(X, BINARY)
        assert "Frozen" not in str(caught.value)


def test_a_private_estimator_without_weights_is_refused():
    with pytest.raises(ValueError, match="PrivateSelectKBest has no coef_"):
        PrivateSelectFromModel(PrivateSelectKBest(), max_features=2).fit(X, BINARY)


@pytest.mark.parametrize("selector", [PrivateSelectKBest(), PrivateSelectFromModel()])
def test_an_unfitted_selector_says_so(selector):
    with pytest.raises(NotFittedError):
        selector.get_support()


def test_the_noise_floor_of_all_columns_is_zero():
    mechanism, _ = recorded(PrivateSelectKBest(k=D), (X, BINARY))
    assert noise_floor(mechanism) == 0.0


def test_numbers_are_not_taken_for_classes_without_a_word():
    ages = np.arange(18, 78)
    rows = np.random.default_rng(0).uniform(-1, 1, (60, 4))
    with pytest.raises(ValueError, match="y_range="):
        PrivateSelectKBest(k=2).fit(rows, ages)
    PrivateSelectKBest(k=2, classes=ages).fit(rows, ages)
    with pytest.raises(ValueError, match="give one of them"):
        PrivateSelectKBest(k=2, classes=[0, 1], y_range=(0, 1)).fit(rows, ages % 2)


def test_a_model_that_cannot_have_weights_is_refused_before_it_spends():
    from skdp.neural_network import PrivateMLPClassifier

    ledger = InMemoryLedger(1.0, 1e-5, Neighbours.ZERO_OUT)
    network = PrivateMLPClassifier((3,), n_epochs=1, ledger=ledger)
    with pytest.raises(ValueError, match="no coef_"):
        PrivateSelectFromModel(network).fit(np.eye(60, 4), np.arange(60) % 2)
    assert ledger.history() == ()


def test_the_seed_of_a_model_within_is_printed_and_saved_before_the_fit_alone():
    seed = 918273645
    model = PrivateElasticNetClassifier(threshold="auto", classes=[0, 1], random_state=seed)
    selector = PrivateSelectFromModel(model)
    assert str(seed) in repr(selector)
    with pytest.warns(PrivacyLeakWarning):
        selector.fit(np.eye(60, 4), np.arange(60) % 2)
    whole = make_pipeline(selector, Normalizer())
    for text in (repr(selector), selector._repr_html_(), repr(whole), whole._repr_html_()):
        assert str(seed) not in text
    assert pickle.loads(pickle.dumps(selector)).estimator.random_state is None
    assert clone(selector).estimator.random_state == selector.estimator.random_state == seed
    assert model.random_state == seed
