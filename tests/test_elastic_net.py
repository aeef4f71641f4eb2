"""What the elastic nets minimise and predict, against scikit-learn, scipy and formulas."""

import numpy as np
import pytest
from scipy import optimize, sparse, stats
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from skdp.linear_model import PrivateElasticNet, PrivateElasticNetClassifier
from tests.support.neighbours import recorded

N, D = 600, 5
rng = np.random.default_rng(2)
X = rng.normal(size=(N, D)) * rng.uniform(0.1, 3, size=(N, 1))
CLIPPED = X / np.maximum(np.linalg.norm(X, axis=1), 1)[:, None]
signal = X[:, 0] - X[:, 1] + 0.7
binary = (signal + rng.logistic(size=N) > 0).astype(int)
three = np.digitize(signal, [-1, 1])
CONSTANT = 0.5
AUGMENTED = np.c_[CLIPPED, np.full(N, CONSTANT)]
WEIGHTS = rng.uniform(0, 1, size=N)
ALPHA = 0.02


def minimiser(estimator, y, weights=None):
    """Return what the fit hands to its mechanism, shape (n_outputs, n_columns)."""
    exact = recorded(estimator.set_params(intercept_scaling=CONSTANT, tol=1e-10), (X, y, weights))
    return np.atleast_2d(exact[1])


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_log_loss_is_logistic_regression_with_a_penalised_intercept(weights):
    model = PrivateElasticNetClassifier(alpha=ALPHA, l1_ratio=0.0)
    peer = LogisticRegression(
        C=1 / (ALPHA * N), fit_intercept=False, tol=1e-10, solver="newton-cholesky"
    ).fit(AUGMENTED, binary, sample_weight=weights)
    np.testing.assert_allclose(minimiser(model, binary, weights), peer.coef_, atol=1e-7)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_three_classes_are_softmax_regression(weights):
    model = PrivateElasticNetClassifier(alpha=ALPHA, l1_ratio=0.0)
    peer = LogisticRegression(
        C=1 / (ALPHA * N), fit_intercept=False, tol=1e-9, max_iter=10_000
    ).fit(AUGMENTED, three, sample_weight=weights)
    np.testing.assert_allclose(minimiser(model, three, weights), peer.coef_, atol=1e-5)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # `penalty` is going, and 1.7 needs it
def test_the_elastic_net_is_that_of_scikit_learn():
    model = PrivateElasticNetClassifier(alpha=ALPHA, l1_ratio=0.6, fit_intercept=False)
    peer = LogisticRegression(
        penalty="elasticnet", C=1 / (ALPHA * N), l1_ratio=0.6, fit_intercept=False,
        solver="saga", tol=1e-9, max_iter=20_000, random_state=0,
    ).fit(CLIPPED, binary)  # fmt: skip
    exact = minimiser(model, binary)
    np.testing.assert_allclose(exact, peer.coef_, atol=1e-6)
    assert 0 < np.sum(exact == 0) < D


def test_squared_hinge_is_the_linear_support_vector_machine():
    model = PrivateElasticNetClassifier("squared_hinge", alpha=ALPHA, l1_ratio=0.0)
    peer = LinearSVC(
        C=1 / (ALPHA * N), intercept_scaling=CONSTANT, dual=False, tol=1e-10, max_iter=100_000
    ).fit(CLIPPED, binary)
    exact = minimiser(model, binary)[0]
    np.testing.assert_allclose(exact[:-1], peer.coef_[0], atol=1e-6)
    np.testing.assert_allclose(exact[-1] * CONSTANT, peer.intercept_[0], atol=1e-6)


def huber_hinge(margins):
    """Integral of the hinge's slope, which falls from 1 to 0 for margins from 0.5 to 1.5."""
    return np.where(
        margins <= 0.5, 1 - margins, np.where(margins < 1.5, (1.5 - margins) ** 2 / 2, 0.0)
    )


def by_scipy(loss, l1=0.0):
    """Minimise over w = p - q with p, q >= 0, for which the L1 norm is smooth; no L1 on w[-1]."""
    levels = np.r_[np.full(D, l1), 0.0]

    def objective(halves):
        p, q = halves.reshape(2, -1)
        w = p - q
        ridge = ALPHA / 2 * w @ w
        return np.mean(loss(AUGMENTED @ w)) + ridge + levels @ (p + q)

    found = optimize.minimize(
        objective, np.zeros(2 * D + 2), bounds=[(0, None)] * (2 * D + 2),
        options={"ftol": 1e-15, "gtol": 1e-9, "maxfun": 100_000},
    )  # fmt: skip
    return np.subtract(*found.x.reshape(2, -1))


@pytest.mark.parametrize("l1", [0.0, 0.02])
def test_the_other_losses_agree_with_a_general_minimiser(l1):
    parameters = {"alpha": ALPHA + l1, "l1_ratio": l1 / (ALPHA + l1)}
    signs, targets = 2 * binary - 1, signal
    cases = [
        (PrivateElasticNetClassifier("huber_hinge"), binary, lambda m: huber_hinge(signs * m)),
        (PrivateElasticNetClassifier(), binary, lambda m: np.logaddexp(0, -signs * m)),
        (
            PrivateElasticNet("huber", huber_threshold=0.3),
            targets,
            lambda m: np.where(
                abs(m - targets) < 0.3, (m - targets) ** 2 / 2, 0.3 * (abs(m - targets) - 0.15)
            ),
        ),
        (
            PrivateElasticNet("squared_error", y_bound=0.8),
            targets,
            lambda m: (m - np.clip(targets, -0.8, 0.8)) ** 2 / 2,
        ),
    ]
    for model, labels, loss in cases:
        exact = minimiser(model.set_params(**parameters), labels)[0]
        np.testing.assert_allclose(exact, by_scipy(loss, l1), atol=2e-4, err_msg=str(model))


def test_squared_error_is_ridge_regression():
    model = PrivateElasticNet("squared_error", y_bound=20.0, alpha=ALPHA, l1_ratio=0.0)
    peer = Ridge(alpha=ALPHA * N, fit_intercept=False, tol=1e-12).fit(
        AUGMENTED, signal, sample_weight=WEIGHTS
    )
    np.testing.assert_allclose(minimiser(model, signal, WEIGHTS)[0], peer.coef_, atol=1e-8)


def test_the_released_model_nears_the_exact_one_as_the_noise_vanishes():
    """The L2-Laplace radius is gamma distributed; false alarms: 1e-9 for each of the models."""
    many = np.tile(X, (30, 1))
    for parameters in ({"epsilon": 40.0}, {"epsilon": 1.0}):
        model = PrivateElasticNetClassifier(alpha=0.1, l1_ratio=0.0, **parameters)
        _, exact = recorded(model, (many, np.tile(binary, 30)))
        released = np.r_[model.coef_[0], model.intercept_]
        radius = stats.gamma.isf(1e-9, D + 1, scale=model.noise_scale_)
        assert np.linalg.norm(released - exact[0]) <= radius
        assert radius < 0.05 / parameters["epsilon"]


# ------------------------------------------------------------------------------- the intercept


def test_the_intercept_is_penalised_by_the_ridge_and_not_by_the_lasso():
    """For zero rows and one label: alpha (1 - l1_ratio) w = c sigmoid(-c w)."""
    for scaling in (0.5, 1.0, 3.0):
        model = PrivateElasticNetClassifier(
            alpha=2.0, l1_ratio=0.9, classes=[0, 1], intercept_scaling=scaling, tol=1e-11
        )
        _, exact = recorded(model, (np.zeros((4, 1)), np.ones(4)))
        root = optimize.brentq(lambda w: 0.2 * w - scaling / (1 + np.exp(scaling * w)), 0, 20)  # noqa: B023
        np.testing.assert_allclose(exact[0], [0.0, root], atol=1e-9)


def test_the_intercept_is_the_weight_of_the_constant_times_the_constant():
    model = PrivateElasticNetClassifier(alpha=0.1, intercept_scaling=3.0, epsilon=40)
    recorded(model, (X, binary))
    scores = model.decision_function(np.zeros((1, D)))
    np.testing.assert_array_equal(scores, model.intercept_)
    grid = model._mechanism.grid
    assert (model.intercept_ / 3.0 / grid) % 1 == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("y", [binary, three])
def test_without_an_intercept_it_is_zero(y):
    model = PrivateElasticNetClassifier(fit_intercept=False).fit(X, y)
    assert not model.intercept_.any()
    assert model.intercept_.shape == (len(model.coef_),)
    assert PrivateElasticNet(fit_intercept=False).fit(X, y).intercept_ == 0.0


# ----------------------------------------------------------------------------------- the scores


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("y", [binary, three])
def test_scores_are_those_of_rows_clipped_as_in_fit(container, y):
    model = PrivateElasticNetClassifier(row_norm=1.0).fit(X, y)
    scores = model.decision_function(container(X))
    expected = CLIPPED @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(scores, expected.squeeze(), atol=1e-10)
    # a thousand times longer rows get the same scores
    longer = model.decision_function(container(1000 * X[np.linalg.norm(X, axis=1) > 1]))
    same = model.decision_function(container(X[np.linalg.norm(X, axis=1) > 1]))
    np.testing.assert_allclose(longer, same, atol=1e-10)
    assert not np.allclose(scores, (X @ model.coef_.T + model.intercept_).squeeze())


def test_a_regression_predicts_for_rows_clipped_as_in_fit():
    model = PrivateElasticNet(row_norm=1.0).fit(X, signal)
    np.testing.assert_allclose(model.predict(X), CLIPPED @ model.coef_ + model.intercept_)
    assert model.coef_.shape == (D,)
    assert isinstance(model.intercept_, float)


@pytest.mark.parametrize("y", [binary, three])
def test_probabilities_sum_to_one_and_agree_with_the_scores(y):
    model = PrivateElasticNetClassifier(epsilon=10, alpha=0.01).fit(X, y)
    probabilities, scores = model.predict_proba(X), model.decision_function(X)
    assert probabilities.shape == (N, len(model.classes_))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-14)
    logits = scores if scores.ndim > 1 else np.c_[np.zeros(N), scores]
    odds = np.exp(logits - logits[:, :1])
    np.testing.assert_allclose(probabilities / probabilities[:, :1], odds, rtol=1e-9)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(probabilities), atol=1e-12)
    assert np.array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(X))


@pytest.mark.parametrize("y", [binary, three])
def test_log_probabilities_are_finite_for_extreme_scores(y):
    model = PrivateElasticNetClassifier().fit(X, y)
    model.coef_ = np.full_like(model.coef_, 1e12) * np.arange(1, len(model.coef_) + 1)[:, None]
    logs = model.predict_log_proba(np.r_[np.eye(D), -np.eye(D)])
    assert np.isfinite(logs).all()
    assert logs.min() < -1e11
    np.testing.assert_allclose(np.exp(logs), model.predict_proba(np.r_[np.eye(D), -np.eye(D)]))


@pytest.mark.parametrize("loss", ["huber_hinge", "squared_hinge"])
def test_hinge_losses_have_no_probabilities(loss):
    model = PrivateElasticNetClassifier(loss).fit(X, binary)
    for method in ("predict_proba", "predict_log_proba"):
        assert not hasattr(model, method)
    assert hasattr(PrivateElasticNetClassifier(), "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        model.predict_proba(X)


def test_labels_come_back_in_their_own_type_and_order():
    names = np.array(["yes", "no"])[binary]
    model = PrivateElasticNetClassifier(classes=["yes", "no", "maybe"]).fit(X, names)
    assert model.classes_.tolist() == ["maybe", "no", "yes"]
    assert set(model.predict(X)) <= {"maybe", "no", "yes"}
    assert model.coef_.shape == (3, D)
    assert model.score(X, names) == np.mean(model.predict(X) == names)


# ---------------------------------------------------------------------------------- the weights


@pytest.mark.parametrize("estimator", [PrivateElasticNetClassifier, PrivateElasticNet])
def test_weights_are_clipped_to_their_public_bound_and_never_normalised(estimator):
    def exact(weights, **parameters):
        return recorded(estimator(alpha=0.1, tol=1e-11, **parameters), (X, binary, weights))[1]

    unweighted = exact(None)
    np.testing.assert_allclose(exact(np.ones(N)), unweighted, atol=1e-9)
    np.testing.assert_allclose(exact(np.full(N, 7.0)), unweighted, atol=1e-9)
    tripled = exact(WEIGHTS * 3, max_sample_weight=2)
    clipped = exact(np.minimum(WEIGHTS * 3, 2), max_sample_weight=3)
    np.testing.assert_allclose(tripled, clipped, atol=1e-9)
    # all weights 1/2 is not the same as all weights 1: the penalty counts twice as much
    halved = exact(np.full(N, 0.5))
    np.testing.assert_allclose(halved, exact(None, max_sample_weight=0.5), atol=1e-9)
    assert np.linalg.norm(halved - unweighted) > 1e-3


def test_class_weights_multiply_sample_weights():
    def exact(weights, **parameters):
        model = PrivateElasticNetClassifier(alpha=0.1, tol=1e-11, **parameters)
        return recorded(model, (X, binary, weights))[1]

    by_class = exact(None, class_weight={0: 0.3, 1: 2.0})
    by_record = exact(np.where(binary, 2.0, 0.3), max_sample_weight=2.0)
    np.testing.assert_allclose(by_class, by_record, atol=1e-9)
    # the bound is on the sample weight alone
    both = exact(WEIGHTS * 9, class_weight={1: 2.0}, max_sample_weight=1.0)
    product = np.minimum(WEIGHTS * 9, 1) * np.where(binary, 2.0, 1.0)
    np.testing.assert_allclose(both, exact(product, max_sample_weight=2.0), atol=1e-9)
