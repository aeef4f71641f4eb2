"""What the elastic nets promise: sensitivities by hand, noise, statements, ledgers, seeds."""

import math

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn import config_context

from skdp.exceptions import BudgetExceededError, CertificationError
from skdp.linear_model import PrivateElasticNet, PrivateElasticNetClassifier
from skdp.privacy import InMemoryLedger, Neighbours
from skdp.stability.output_perturbation import OutputPerturbationPlan
from tests.support.replay import fit_trace, violations

N, D = 40, 3
rng = np.random.default_rng(3)
X = rng.normal(size=(N, D))
binary = np.arange(N) % 2
three = np.arange(N) % 3

ALPHA, L1_RATIO, ROW_NORM, CONSTANT, TOL = 0.5, 0.2, 2.0, 1.5, 1e-8
L2 = ALPHA * (1 - L1_RATIO)
KAPPA = math.hypot(ROW_NORM, CONSTANT)
PARAMETERS = {
    "alpha": ALPHA,
    "l1_ratio": L1_RATIO,
    "row_norm": ROW_NORM,
    "intercept_scaling": CONSTANT,
    "tol": TOL,
}


def sigmoid(z):
    return 1 / (1 + math.exp(-z))


def logistic_diameter(weight):
    radius = min(math.sqrt(0.278465 * weight / L2), weight * KAPPA / (2 * L2))
    return 2 * weight * KAPPA * sigmoid(radius * KAPPA)


def squared_hinge_diameter(weight):
    radius = min(math.sqrt(weight / (2 * L2)), 2 * weight * KAPPA / L2)
    return 4 * weight * KAPPA * (1 + radius * KAPPA)


def squared_diameter(weight, y_bound=0.7):
    radius = min(y_bound / 2 * math.sqrt(weight / L2), weight * KAPPA * y_bound / L2)
    return 2 * weight * KAPPA * (KAPPA * radius + y_bound)


#: Estimator, labels and the largest distance between two gradients of records of some weight.
LOSSES = {
    "logistic": (PrivateElasticNetClassifier(), binary, logistic_diameter),
    "softmax": (PrivateElasticNetClassifier(), three, lambda w: 2 * math.sqrt(2) * w * KAPPA),
    "huber_hinge": (PrivateElasticNetClassifier("huber_hinge"), binary, lambda w: 2 * w * KAPPA),
    "squared_hinge": (
        PrivateElasticNetClassifier("squared_hinge"),
        binary,
        squared_hinge_diameter,
    ),
    "huber": (PrivateElasticNet(huber_threshold=0.3), X[:, 0], lambda w: 2 * w * KAPPA * 0.3),
    "squared": (PrivateElasticNet("squared_error", y_bound=0.7), X[:, 0], squared_diameter),
}
LOSS = pytest.mark.parametrize(("model", "y", "diameter"), LOSSES.values(), ids=LOSSES.keys())


def moves(diameter, weight=1.0):
    """How far the certified minimiser moves at most: D / (n l2) and twice tol / l2."""
    return diameter(weight) / (N * L2) + 2 * TOL / L2


@LOSS
def test_the_sensitivity_is_the_value_by_hand_and_rounding_adds_little(model, y, diameter):
    model.set_params(**PARAMETERS).fit(X, y)
    assert model.sensitivity_.norm == "l2"
    assert model.sensitivity_.neighbours is Neighbours.REPLACE_ONE
    assert 1 <= model.sensitivity_.value / moves(diameter) < 1 + 2**-14


@LOSS
def test_the_noise_has_the_scale_of_its_theorem(model, y, diameter):
    model.set_params(**PARAMETERS)
    size = (D + 1) * (3 if y is three else 1)
    per_unit = {
        ("l2_laplace", 0.0): 1.0,
        ("laplace", 0.0): math.sqrt(size),
        ("gaussian", 1e-6): 4.2247,
    }
    for (noise, delta), scale in per_unit.items():
        fitted = model.set_params(noise=noise, delta=delta, epsilon=1.0).fit(X, y)
        assert fitted.noise_scale_ == pytest.approx(scale * moves(diameter), rel=2e-4)
        expected = "l1" if noise == "laplace" else "l2"
        assert fitted.sensitivity_.norm == expected
    model.set_params(noise="auto", delta=0.0)


@LOSS
def test_the_published_bound_is_at_least_twice_the_tight_one(model, y, diameter):
    tight = model.set_params(**PARAMETERS).fit(X, y).sensitivity_.value
    paper = model.set_params(bound="paper").fit(X, y).sensitivity_.value
    assert "Watson" in model.privacy_.theorem
    model.set_params(bound="tight")
    # softmax: the two gradients of one record are at most 2 sqrt(2) kappa apart either way
    assert paper / tight >= 2 * (1 - 1e-4)


def test_weights_enter_the_sensitivity_by_their_public_bounds():
    model = PrivateElasticNetClassifier(**PARAMETERS)
    for limit, class_weight, largest in [
        (3.0, None, 3.0),
        (0.25, None, 0.25),
        (1.0, {0: 0.2, 1: 5.0}, 5.0),
        (3.0, {0: 0.2}, 3.0),
        (3.0, {0: 2.0, 1: 0.0}, 6.0),
    ]:
        model.set_params(max_sample_weight=limit, class_weight=class_weight)
        for weights in (None, rng.uniform(0, 99, size=N)):
            value = model.fit(X, binary, sample_weight=weights).sensitivity_.value
            assert value == pytest.approx(moves(logistic_diameter, largest), rel=1e-4)


def test_automatic_noise_goes_from_spherical_laplace_to_gaussian_at_eighteen_coefficients():
    """At (1, 1e-6): expected norms d s against 4.2247 s sqrt(2) Gamma((d+1)/2) / Gamma(d/2)."""
    wide = rng.normal(size=(N, 18))

    def kind(n_features, **parameters):
        model = PrivateElasticNetClassifier(delta=1e-6, alpha=1.0, **parameters)
        return type(model.fit(wide[:, :n_features], binary)._mechanism).__name__

    assert kind(17, fit_intercept=False) == kind(16) == "L2LaplaceMechanism"
    assert kind(18, fit_intercept=False) == kind(17) == "GaussianMechanism"
    softmax = PrivateElasticNetClassifier(delta=1e-6, alpha=1.0).fit(wide[:, :5], three)
    assert softmax._mechanism.size == 18
    assert type(softmax._mechanism).__name__ == "GaussianMechanism"


def test_one_draw_of_noise_covers_all_classes_and_the_intercept():
    for y, size in ((binary, D + 1), (three, 3 * (D + 1))):
        trace = fit_trace(PrivateElasticNetClassifier(), (X, y))
        assert [mechanism.size for mechanism in trace.mechanisms] == [size]


def test_more_than_epsilon_40_adds_the_noise_of_40():
    scales = [
        PrivateElasticNetClassifier(epsilon=epsilon, alpha=0.1).fit(X, binary).noise_scale_
        for epsilon in (39.0, 40.0, 41.0, 1e6)
    ]
    assert scales[0] > scales[1] == scales[2] == scales[3]
    far = PrivateElasticNetClassifier(epsilon=1e6).fit(X, binary).privacy_
    assert far.epsilon == 1e6
    assert far.epsilon_at(1e-9) <= 40.0


def test_released_weights_scatter_as_the_mechanism_says():
    """The radius is Gamma(d, b), a sum of 150 Gamma(150 d, b). False alarms: 1e-6."""
    model = PrivateElasticNetClassifier(**PARAMETERS)
    trace = fit_trace(model, (X, binary))
    (exact,) = trace.inputs
    radii = np.empty(150)
    for i in range(150):
        model.fit(X, binary)
        released = np.r_[model.coef_[0], model.intercept_ / CONSTANT]
        radii[i] = np.linalg.norm(released - exact.ravel())
    low, high = stats.gamma.ppf([5e-7, 1 - 5e-7], 150 * (D + 1), scale=model.noise_scale_)
    assert low <= radii.sum() <= high
    assert high / low < 1.6


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("estimator", [PrivateElasticNetClassifier, PrivateElasticNet])
def test_automatic_alpha_falls_as_epsilon_grows(estimator, delta):
    alphas = [
        estimator(epsilon=epsilon, delta=delta).fit(X, binary).alpha_
        for epsilon in (0.01, 0.1, 0.3, 1, 3, 10, 40, 100)
    ]
    assert alphas == sorted(alphas, reverse=True)
    assert alphas[0] > alphas[-1] > 0


def test_automatic_alpha_is_a_function_of_public_facts_alone():
    model = PrivateElasticNetClassifier(classes=[0, 1])
    first = model.fit(X, binary).alpha_
    assert model.fit(np.full((N, D), 1e300), np.zeros(N)).alpha_ == first
    assert model.fit(X[:20], binary[:20]).alpha_ != first


# ------------------------------------------------------------------------------- the statement


def test_the_statement_lists_what_was_assumed():
    def assumptions(y=binary, weights=None, **parameters):
        model = PrivateElasticNetClassifier(row_norm=2.5, **parameters)
        return "\n".join(model.fit(X, y, sample_weight=weights).privacy_.assumptions)

    taken, declared = assumptions(), assumptions(classes=[0, 1])
    for text in (taken, declared):
        assert "number of rows and the columns are public" in text
        assert "clipped to Euclidean norm 2.5, a bound that was declared" in text
        assert "No parameter of the model was chosen by looking" in text
    assert "taken from y and are assumed to be public" in taken
    assert "set of classes was declared" in declared
    assert "sample weights" not in taken
    assert "not all sample weights are 0" in assumptions(weights=np.ones(N))
    bounded = PrivateElasticNet(y_bound=0.5).fit(X, binary).privacy_.assumptions
    assert any("[-0.5, 0.5]" in sentence for sentence in bounded)


@pytest.mark.parametrize("number", [np.float64, np.float32, np.int64, int])
def test_parameters_of_numpy_types_are_used_in_float64(number):
    """In float32 the sensitivity itself would be off by 2^-24."""
    model = PrivateElasticNetClassifier(
        epsilon=number(1), alpha=number(2), row_norm=number(3), intercept_scaling=number(1)
    ).fit(X, binary)
    plain = PrivateElasticNetClassifier(alpha=2.0, row_norm=3.0).fit(X, binary)
    assert model.sensitivity_ == plain.sensitivity_
    assert model.privacy_.to_json() == plain.privacy_.to_json()
    assert type(model.alpha_) is type(model.privacy_.epsilon) is float


def test_pure_privacy_is_stated_with_the_tiny_delta_of_finite_precision():
    statement = PrivateElasticNetClassifier(epsilon=0.7).fit(X, binary).privacy_
    assert statement.epsilon == 0.7
    assert statement.budget.delta == 0
    assert 0 < statement.delta < 1e-25
    assert statement.neighbours is Neighbours.REPLACE_ONE


# ---------------------------------------------------------------------------------- the ledger


@pytest.mark.parametrize("estimator", [PrivateElasticNetClassifier, PrivateElasticNet])
def test_every_fit_spends_again(estimator):
    ledger = InMemoryLedger(1.0, 1e-5)
    model = estimator(epsilon=0.3, delta=1e-6, ledger=ledger)
    for spent in (0.3, 0.6, 0.9):
        model.fit(X, binary)
        assert ledger.spent().epsilon == spent
    assert [entry.purpose for entry in ledger.history()] == [f"{estimator.__name__}.fit"] * 3
    assert ledger.history()[-1].statement is model.privacy_


@pytest.mark.parametrize("estimator", [PrivateElasticNetClassifier, PrivateElasticNet])
def test_over_budget_nothing_is_spent_or_released(estimator):
    ledger = InMemoryLedger(1.0)
    model = estimator(epsilon=0.6, ledger=ledger).fit(X, binary)
    before = vars(model).copy()
    with pytest.raises(BudgetExceededError, match="Nothing was spent"):
        model.fit(X[:, :2], binary)
    assert vars(model) == before
    assert len(ledger.history()) == 1
    fresh = estimator(epsilon=0.6, ledger=ledger)
    with pytest.raises(BudgetExceededError):
        fresh.fit(X, binary)
    assert not [name for name in vars(fresh) if name.endswith("_")]


def test_the_budget_is_spent_after_admission_and_before_the_solver_runs(monkeypatch):
    order = []

    class Book:
        def spend(self, statement, *, purpose, parameters=None):
            order.append("spend")

    def solve(plan, records):
        order.append("solve")
        return np.zeros((1, D + 1))

    monkeypatch.setattr(OutputPerturbationPlan, "minimiser", solve)
    PrivateElasticNetClassifier(ledger=Book()).fit(X, binary)
    assert order == ["spend", "solve"]
    with pytest.raises(CertificationError):
        PrivateElasticNetClassifier(ledger=Book(), alpha=1e-12).fit(X, binary)
    assert order == ["spend", "solve"]


def duplicated(stored, first_columns):
    """Return 400 sparse rows of duplicates that cancel; row 0 has its columns in this order."""
    entries = np.random.default_rng(1).permuted(np.tile([1e17, -1e17, 1.0, 1.0], (399, 5)), axis=1)
    data = np.concatenate([[1.0, 1.0], entries.ravel()])
    columns = np.concatenate([first_columns, np.zeros(entries.size, dtype=int)])
    rows = np.concatenate([[0, 0], np.repeat(np.arange(1, 400), 20)])
    if stored == "csr":
        indptr = np.searchsorted(rows, np.arange(401))
        return sparse.csr_array((data, columns, indptr), shape=(400, 2))
    if stored == "bsr":
        indptr = np.searchsorted(rows, np.arange(401))
        return sparse.bsr_array((data[:, None, None], columns, indptr), shape=(400, 2))
    return sparse.coo_array((data, (rows, columns)), shape=(400, 2))


@pytest.mark.parametrize("stored", ["csr", "coo", "bsr"])
def test_the_order_of_one_sparse_row_moves_no_other_row(stored):
    one, other = duplicated(stored, [0, 1]), duplicated(stored, [1, 0])
    sums = [sparse.csr_array(rows.tocsr(), copy=True) for rows in (one, other)]
    for rows in sums:
        rows.sum_duplicates()
    clipped = [np.clip(rows.toarray()[:, 0], -1, 1) for rows in sums]
    # Rows that scipy would sum to another number all pull the same way.
    labels = clipped[0] > clipped[1]
    model = PrivateElasticNetClassifier(alpha=1.0, classes=(False, True))
    assert violations(model, (one, labels), (other, labels)) == []


@pytest.mark.parametrize("place", ["X", "y", "sample_weight"])
def test_nan_is_refused_before_the_spend_also_where_finite_values_are_assumed(place):
    ledger = InMemoryLedger(10.0)
    given = {"X": X.copy(), "y": binary.astype(float), "sample_weight": np.ones(N)}
    given[place].flat[0] = np.nan
    with config_context(assume_finite=True), pytest.raises(ValueError, match="contains NaN"):
        PrivateElasticNet(ledger=ledger).fit(**given)
    assert ledger.history() == ()
