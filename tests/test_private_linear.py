"""Linear models that plan themselves: what they choose, compute, promise and refuse."""

import math
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import train_test_split

from skdp.exceptions import BudgetExceededError, LittleToLearnWarning, PrivacyLeakWarning
from skdp.linear_model import PrivateLinearClassifier, PrivateLinearRegressor, private_linear_model
from skdp.linear_model.linear_choice import LinearFacts
from skdp.mechanisms import Mechanism
from skdp.privacy import InMemoryLedger, Neighbours, PrivacyBudget
from skdp.privacy.gaussian_curve import gaussian_mu
from skdp.training.descent import DescentFacts, DescentRun
from skdp.training.row_products import numpy_row_products, row_products
from skdp.training.standardise import SPREAD, Standard
from tests.support.refusals import SECRET_TEXT, refuses_to_fit


@pytest.fixture
def no_noise(monkeypatch):
    """Releases give what they are given."""
    monkeypatch.setattr(Mechanism, "release", lambda self, value, rng: np.array(value))


def classes_of(n=4000, d=5, k=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) / 4 + 0.2
    scores = X @ rng.normal(size=(d, k)) * 6 + rng.gumbel(size=(n, k))
    return X, scores.argmax(axis=1)


def labels_of(n=4000, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) / 4 + 0.2
    return X, X @ rng.normal(size=d) / 3 + 0.3 + 0.05 * rng.normal(size=n)


def quiet(model, *data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        return model.fit(*data)


def facts(n=1000, d=20, k=1, *, has_labels=False, is_sparse=False, relation="zero-out", **given):
    given = {"epsilon": 1.0, "delta": 1e-6, **given}
    smoothness = 1.0 if has_labels else 0.25
    return DescentFacts(
        n,
        d,
        k,
        given["epsilon"],
        given["delta"],
        Neighbours(relation),
        smoothness,
        has_labels,
        is_sparse,
    )


# What it computes --------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 4])
def test_without_noise_it_comes_near_logistic_regression(no_noise, k):
    X, y = classes_of(k=k)
    model = PrivateLinearClassifier(epsilon=30.0, row_norm=4.0).fit(X, y)
    reference = LogisticRegression(C=1e4, max_iter=1000).fit(X, y)
    assert model.coef_.shape == reference.coef_.shape
    assert np.mean(model.predict(X) == reference.predict(X)) > 0.97
    assert model.score(X, y) > reference.score(X, y) - 0.01


def test_without_noise_it_comes_near_least_squares(no_noise):
    X, y = labels_of()
    model = PrivateLinearRegressor(epsilon=3.0, row_norm=4.0, mechanism="descent").fit(X, y)
    reference = LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=0.02)
    assert model.score(X, y) > reference.score(X, y) - 0.005


def test_scores_do_not_change_with_the_units_of_rows_and_labels():
    X, y = labels_of(1000)
    given = {"random_state": 3, "mechanism": "descent"}
    one = quiet(PrivateLinearRegressor(row_norm=2.0, y_bound=1.0, **given), X, y)
    other = quiet(PrivateLinearRegressor(row_norm=8.0, y_bound=16.0, **given), 4 * X, 16 * y)
    np.testing.assert_allclose(other.predict(4 * X), 16 * one.predict(X), rtol=1e-9)


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array])
def test_sparse_rows_of_few_columns_are_treated_as_dense_ones(container):
    X, y = classes_of(500)
    one = quiet(PrivateLinearClassifier(random_state=1, delta=1e-4), X, y)
    other = quiet(PrivateLinearClassifier(random_state=1, delta=1e-4), container(X), y)
    assert np.array_equal(one.coef_, other.coef_)


def test_sparse_rows_of_many_columns_stay_sparse(monkeypatch):
    rng = np.random.default_rng(0)
    X = sp.random(3000, 600, density=0.02, random_state=rng, format="csr")
    y = (np.asarray(X[:, :300].sum(axis=1)).ravel() > 3).astype(int)
    monkeypatch.setattr(sp.csr_matrix, "toarray", None)
    model = quiet(PrivateLinearClassifier(epsilon=20.0, row_norm=3.0, random_state=0), X, y)
    assert model.choice_.mechanism == "descent"
    assert model.score(X, y) > 0.7


def test_very_many_sparse_columns_are_handed_on(monkeypatch):
    X, y = classes_of(2000)
    monkeypatch.setattr(private_linear_model, "DENSE_COLUMNS", 1)
    monkeypatch.setattr("skdp.linear_model.linear_choice._LAZY_COLUMNS", 4)
    model = quiet(
        PrivateLinearClassifier(epsilon=5.0, row_norm=2.0, random_state=0), sp.csr_array(X), y
    )
    assert model.choice_.mechanism == "sparse_dpsgd"
    assert "sparse" in model.explain_choice()
    assert model.privacy_.neighbours is Neighbours.ZERO_OUT
    assert model.score(X, y) > 0.6


def test_the_product_of_rows_is_that_of_matrices_and_depends_on_no_other_row():
    rng = np.random.default_rng(0)
    rows, matrix = rng.normal(size=(2100, 33)), rng.normal(size=(33, 40))
    product = row_products(rows, matrix)
    np.testing.assert_allclose(product, rows @ matrix, rtol=1e-10, atol=1e-12)
    assert np.array_equal(product, numpy_row_products(rows, matrix))
    assert np.array_equal(row_products(rows[7:], matrix), product[7:])


def test_a_standard_is_folded_into_the_coefficients():
    rng = np.random.default_rng(0)
    X, weights, intercepts = rng.normal(size=(9, 3)), rng.normal(size=(3, 2)), rng.normal(size=2)
    for matrix in (None, rng.normal(size=(3, 3))):
        standard = Standard(rng.normal(size=3), 0.7, matrix)
        coef, intercept = standard.folded(weights, intercepts)
        np.testing.assert_allclose(
            X @ coef + intercept, standard.rows(X) @ weights + intercepts, atol=1e-12
        )


def test_rows_are_standardised_without_noise(no_noise):
    X, _ = labels_of(5000, d=4)
    X[:, 1] *= 3
    f = facts(5000, 4, epsilon=30.0)
    run = DescentRun.planned(f, PrivacyBudget(30.0, 1e-6), 8.0)
    standard, label = run.preparation.release(X / 8, None, None)
    assert label is None
    rows = standard.rows(X / 8)
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-3)
    second = rows.T @ rows / len(rows)  # rows are clipped for it, hence not quite the identity
    assert np.linalg.cond(second) < 1.6
    assert 1 < np.trace(second) / SPREAD**2 < 1.6


@pytest.mark.parametrize("relation", ["zero-out", "replace-one"])
def test_the_budget_is_used_up_and_not_exceeded(relation):
    for given in ({}, {"epsilon": 0.1}, {"epsilon": 8.0, "has_labels": True}, {"is_sparse": True}):
        f = facts(5000, 8, relation=relation, **given)
        run = DescentRun.planned(f, PrivacyBudget(f.epsilon, f.delta), 1.0)
        plan = run.plan
        # By hand: mu^2 of every Gaussian part adds up to that of the budget.
        parts = [run.preparation.statistics_noise, run.preparation.moment_noise]
        factor = 2 if relation == "replace-one" else 1
        mu2 = sum((p.sensitivity.value / p.noise_scale) ** 2 for p in parts if p is not None)
        mu2 += plan.n_steps * (factor / plan.noise.level) ** 2
        wanted = gaussian_mu(f.epsilon, f.delta)
        assert 0.995 * wanted < math.sqrt(mu2) <= wanted * (1 + 1e-4)


# What it chooses ---------------------------------------------------------------------------------


def choice(mechanism="auto", **given):
    return LinearFacts(facts(**given), mechanism).choice.mechanism


def test_the_rule_is_one_of_public_facts():
    assert choice(n=20) == "baseline"
    assert choice(n=1000) == "descent"
    assert choice(n=20, mechanism="descent") == "descent"
    assert choice(n=100, has_labels=True) == "baseline"
    assert choice(n=1000, has_labels=True) == "descent"
    assert choice(n=10**7, d=3, has_labels=True) == "ridge"
    assert choice(n=10**7, d=3) == "descent"
    assert choice(n=10**5, d=10**5, is_sparse=True) == "sparse_dpsgd"
    assert choice(n=1000, epsilon=0.001) == "baseline"


def test_more_signal_whitens_and_goes_farther():
    few, many = facts(300), facts(30_000)
    assert not few.whitens
    assert many.whitens
    assert many.travel > few.travel
    assert few.n_steps >= 80
    assert facts(30_000, is_sparse=True).whitens is False
    assert many.signal == pytest.approx(30_000 * gaussian_mu(1.0, 1e-6))
    assert facts(30_000, relation="replace-one").signal == pytest.approx(many.signal / 2)


def test_large_tables_are_sampled_and_small_ones_are_not():
    assert facts(30_000).sampling_rate == 1.0
    large = facts(1_000_000)
    assert 0.02 < large.sampling_rate < 0.3
    assert "Poisson" in type(large.sampler()).__name__
    assert facts(1_000_000, epsilon=30.0).sampling_rate < 0.1  # whitened: some passes are enough
    assert facts(9000, 1000, epsilon=30.0).sampling_rate == 1.0  # it would take most rows


def test_a_baseline_says_so_before_it_spends():
    X, y = classes_of(30)
    y[:20] = 1
    ledger = InMemoryLedger(epsilon=0.5, delta=1e-3, neighbours="zero-out")
    model = PrivateLinearClassifier(epsilon=0.4, delta=1e-4, ledger=ledger)
    with pytest.warns(LittleToLearnWarning, match=r"n mu = .* for 5 columns"):
        model.fit(X, y)
    assert model.choice_.mechanism == "baseline"
    assert not model.coef_.any()
    assert len(ledger.history()) == 1
    with pytest.warns(LittleToLearnWarning), pytest.raises(BudgetExceededError):
        clone(model).fit(X, y)


def test_a_baseline_predicts_the_commonest_class_and_its_shares():
    X, y = classes_of(400, k=3)
    y[:300] = 2
    model = quiet(PrivateLinearClassifier(epsilon=5.0, mechanism="baseline", random_state=0), X, y)
    assert (model.predict(X) == 2).all()
    np.testing.assert_allclose(model.predict_proba(X[:1])[0], np.bincount(y) / 400, atol=0.05)
    two = quiet(clone(model), X, (y == 2).astype(int))
    assert (two.predict(X) == 1).all()


def test_a_baseline_of_labels_is_their_mean():
    X, y = labels_of(400)
    model = quiet(PrivateLinearRegressor(epsilon=5.0, mechanism="baseline", random_state=0), X, y)
    np.testing.assert_allclose(model.predict(X), np.clip(y, -1, 1).mean(), atol=0.02)


def test_what_was_chosen_is_explained():
    X, y = classes_of(3000)
    model = PrivateLinearClassifier(row_norm=2.0).fit(X, y)
    text = model.explain_choice()
    assert text.startswith("descent: n mu =")
    assert all(word in text for word in ("whitened", "n_steps", "learning_rate"))


def test_moments_are_used_where_noise_no_longer_matters():
    X, y = labels_of(20_000, d=2)
    model = PrivateLinearRegressor(epsilon=20.0, row_norm=3.0).fit(X, y)
    assert model.choice_.mechanism == "ridge"
    assert model.score(X, y) > LinearRegression().fit(X, y).score(X, y) - 0.01


# How good it is: wide margins, three seeds -------------------------------------------------------


@pytest.mark.parametrize(
    ("load", "scale", "row_norm", "least"),
    [(load_digits, 1 / 16, 4.0, 0.86), (load_breast_cancer, None, 3.0, 0.9)],
)
def test_accuracy_at_epsilon_1(load, scale, row_norm, least):
    X, y = load(return_X_y=True)
    X = X * scale if scale else 2 * X / X.max(axis=0) - 1
    found = []
    for seed in range(3):
        train, test, y_train, y_test = train_test_split(X, y, random_state=seed, stratify=y)
        model = PrivateLinearClassifier(
            epsilon=1.0, delta=1e-3, row_norm=row_norm, random_state=seed, classes=np.unique(y)
        )
        found.append(quiet(model, train, y_train).score(test, y_test))
    assert np.mean(found) > least


# What it promises and refuses --------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["descent", "baseline", "ridge", "sparse_dpsgd"])
@pytest.mark.parametrize("relation", ["zero-out", "add-or-remove-one", "replace-one"])
def test_the_statement_names_the_relation_whatever_is_chosen(relation, mechanism):
    X, y = labels_of(300)
    expected = 250 if relation == "add-or-remove-one" else None
    ledger = InMemoryLedger(epsilon=1.0, delta=1e-5, neighbours=relation)
    model = PrivateLinearRegressor(
        delta=1e-5,
        mechanism=mechanism,
        neighbours=relation,
        expected_samples=expected,
        ledger=ledger,
    ).fit(X, y)
    statement = model.privacy_
    assert statement.neighbours is Neighbours(relation)
    assert 0.95 < statement.epsilon_at(1e-5) <= 1.0 + 1e-9
    assert len(ledger.history()) == 1


def test_a_plain_pipeline_predicts_the_same():
    models = (classes_of, PrivateLinearClassifier()), (labels_of, PrivateLinearRegressor())
    for maker, model in models:
        X, y = maker(600)
        fitted = model.fit(X, y)
        plain = pickle.loads(pickle.dumps(fitted)).to_sklearn()
        assert np.array_equal(plain.predict(X), fitted.predict(X))
    X, y = classes_of(600, k=3)
    fitted = PrivateLinearClassifier().fit(X, y)
    np.testing.assert_allclose(fitted.to_sklearn().predict_proba(X), fitted.predict_proba(X))


def test_nothing_of_the_fit_is_left_but_what_was_released():
    X, y = classes_of(600)
    model = PrivateLinearClassifier().fit(X, y)
    left = set(vars(model)) - set(model.get_params())
    assert left == {
        "classes_", "choice_", "coef_", "intercept_", "privacy_", "n_features_in_",
        "probability_factor_",
    }  # fmt: skip


def test_a_seed_gives_the_same_model_and_warns():
    X, y = classes_of(500)
    with pytest.warns(PrivacyLeakWarning, match="random_state"):
        one = PrivateLinearClassifier(random_state=3, delta=1e-4).fit(X, y)
    other = quiet(PrivateLinearClassifier(random_state=3, delta=1e-4), X, y)
    assert np.array_equal(one.coef_, other.coef_)
    assert not np.array_equal(one.coef_, PrivateLinearClassifier(delta=1e-4).fit(X, y).coef_)


def test_a_large_delta_warns_where_the_number_of_rows_is_public():
    X, y = classes_of(500)
    with pytest.warns(PrivacyLeakWarning, match="delta"):
        PrivateLinearClassifier(delta=0.01).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyLeakWarning)
        PrivateLinearClassifier(
            delta=0.01, neighbours="add-or-remove-one", expected_samples=500
        ).fit(X, y)


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        (lambda X, y: PrivateLinearClassifier(delta=0.0).fit(X, y), "delta"),
        (lambda X, y: PrivateLinearClassifier(mechanism="ridge").fit(X, y), "mechanism"),
        (lambda X, y: PrivateLinearClassifier(expected_samples=5).fit(X, y), "expected_samples"),
        (
            lambda X, y: PrivateLinearClassifier(neighbours="add-or-remove-one").fit(X, y),
            "set expected_samples",
        ),
        (lambda X, y: PrivateLinearClassifier(classes=[0, 5]).fit(X, y), "declared classes"),
        (lambda X, y: PrivateLinearRegressor(y_bound=0.0).fit(X, y), "y_bound"),
        (lambda X, y: PrivateLinearRegressor(row_norm=-1.0).fit(X, y), "row_norm"),
        (lambda X, y: PrivateLinearClassifier(epsilon=1e-9, delta=1e-12).fit(X, y), "too small"),
    ],
)
def test_bad_parameters_are_refused_before_anything_is_spent(fit, message):
    with pytest.raises(ValueError, match=message):
        fit(*classes_of(50))


@pytest.mark.parametrize("estimator", [PrivateLinearClassifier, PrivateLinearRegressor])
def test_refusals_quote_nothing_spend_nothing_and_leave_no_trace(estimator):
    X, y = classes_of(50)
    texts = X.astype(object)
    texts[3, 1] = SECRET_TEXT
    refuses_to_fit(estimator(), texts, y, match="could not be read as numbers")
    refuses_to_fit(estimator(), np.where(X > 0.5, np.nan, X), y, match="contains NaN")
    refuses_to_fit(estimator(), X, y[:5], match="inconsistent numbers of samples")
    refuses_to_fit(estimator(), X, None, match="target y is None")


def test_what_an_inner_estimator_promises_is_stated_and_charged_as_the_outer_ones():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-0.5, 0.5, (400, 2)), rng.uniform(-7, 7, 400)
    ledger = InMemoryLedger(2.0, 1e-3, neighbours="add-or-remove-one")
    model = PrivateLinearRegressor(
        y_bound=7.0, mechanism="ridge", neighbours="add-or-remove-one", expected_samples=400,
        ledger=ledger,
    )  # fmt: skip
    model.fit(X, y)
    said = " ".join(model.privacy_.assumptions)
    assert "[-7.0, 7.0]" in said
    assert "expected_samples=400" in said
    assert [entry.purpose for entry in ledger.history()] == ["PrivateLinearRegressor.fit"]


class TestUnevenClasses:
    """Sparse rows: the share of two classes is released, and descent goes farther."""

    def rows(self, n=4000, share=0.1):
        rng = np.random.default_rng(0)
        X = sp.random_array((n, 600), density=0.02, rng=rng, format="csr")
        return X, (np.arange(n) < share * n).astype(int)

    @pytest.mark.parametrize(
        ("mean", "factor"), [(0.0, 1.0), (-0.6, 1.25), (0.8, 5 / 3), (-0.99, 2.0), (1.3, 2.0)]
    )
    def test_how_much_farther(self, mean, factor):
        f = facts(4000, is_sparse=True)
        run = DescentRun.planned(f, PrivacyBudget(f.epsilon, f.delta), 1.0)
        assert run._farther(mean).learning_rate == pytest.approx(factor * run.learning_rate)
        assert run._farther(mean).learning_rate <= f.largest_rate

    def test_steps_stay_below_what_the_curvature_allows(self):
        f = replace(facts(4000, is_sparse=True), epsilon=1e3)
        run = DescentRun.planned(f, PrivacyBudget(f.epsilon, f.delta), 1.0)
        assert run._farther(1.0).learning_rate == f.largest_rate == run.largest_rate

    def test_it_is_charged_and_named(self):
        X, y = self.rows()
        model = PrivateLinearClassifier(classes=[0, 1], epsilon=3.0, delta=1e-5).fit(X, y)
        prior = model.privacy_.event.events[0]
        mu = gaussian_mu(3.0, 1e-5)
        assert prior.sensitivity / prior.noise_std == pytest.approx(mu * math.sqrt(0.15), rel=1e-6)
        assert prior.sensitivity == pytest.approx(math.sqrt(2 * 0.7**2), rel=1e-3)
        assert "sums of clipped rows' squared norms and of labels" in model.privacy_.theorem
        assert "labels and of" not in model.privacy_.theorem
        assert 2.97 < model.privacy_.epsilon_at(1e-5) <= 3.0

    def test_neither_three_classes_nor_dense_rows_have_it(self):
        X, y = self.rows()
        for rows, classes in ((X, [0, 1, 2]), (X.toarray()[:, :500], [0, 1])):
            model = PrivateLinearClassifier(classes=classes, epsilon=3.0, delta=1e-5)
            assert "labels" not in model.fit(rows, y).privacy_.theorem
