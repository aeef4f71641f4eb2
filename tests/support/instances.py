"""Estimators and parameter combinations that every contract runs over."""

import itertools

from sklearn.linear_model import (
    ElasticNet,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

from skdp.decomposition import PrivatePCA
from skdp.embedding import PrivateCBOW, PrivateVocabulary
from skdp.feature_selection import PrivateSelectFromModel, PrivateSelectKBest
from skdp.linear_model import (
    PrivateElasticNet,
    PrivateElasticNetClassifier,
    PrivateLinearClassifier,
    PrivateLinearRegressor,
    PrivateRidge,
    PrivateRidgeClassifier,
    SparseDPSGDClassifier,
    SparseDPSGDRegressor,
    StableSGDClassifier,
    StableSGDRegressor,
)
from skdp.meta import StabilityOutputPerturbation
from skdp.model_selection import PrivateGridSearchCV, PrivateRandomizedSearchCV
from skdp.neural_network import PrivateMLPClassifier, PrivateMLPRegressor
from skdp.preprocessing import (
    PrivateImputer,
    PrivateMinMaxScaler,
    PrivateOneHotEncoder,
    PrivateQuantileClipper,
    PrivateStandardScaler,
)
from skdp.stability import Ball, ConstantStep, ExampleDropout, SomePasses

CLASSIFIER_LOSSES = ("log_loss", "huber_hinge", "squared_hinge")
REGRESSOR_LOSSES = ("huber", "squared_error")
# (noise, delta): every noise with every kind of budget that admits it.
NOISES = (
    ("auto", 0.0),
    ("auto", 1e-6),
    ("laplace", 0.0),
    ("l2_laplace", 0.0),
    ("gaussian", 1e-6),
)


def classifiers():
    """One classifier for each loss, noise and delta, the defaults first."""
    for loss, (noise, delta) in itertools.product(CLASSIFIER_LOSSES, NOISES):
        yield PrivateElasticNetClassifier(loss=loss, noise=noise, delta=delta)
    corrected = {"probability_correction": "noise"}
    yield PrivateElasticNetClassifier(
        bound="paper", threshold=1e-3, fit_intercept=False, **corrected
    )
    for noise, delta in (("auto", 0.0), ("auto", 1e-6), ("gaussian", 1e-6)):
        yield PrivateElasticNetClassifier(
            perturbation="objective", noise=noise, delta=delta, **corrected
        )
    yield PrivateElasticNetClassifier(
        perturbation="objective", neighbours="zero-out", delta=1e-6, noise="gaussian"
    )


def regressors():
    """One regressor for each loss, noise and delta."""
    yield PrivateElasticNet()
    for loss, (noise, delta) in itertools.product(REGRESSOR_LOSSES, NOISES):
        yield PrivateElasticNet(loss=loss, noise=noise, delta=delta, y_bound=5.0)
    yield PrivateElasticNet("log_cosh", perturbation="objective", delta=1e-6)
    yield PrivateElasticNet("log_cosh", perturbation="objective", neighbours="zero-out")
    yield PrivateElasticNet("log_cosh")


#: One instance of every public estimator; a guard test fails when a class is missing.
ESTIMATORS = (
    PrivateElasticNetClassifier(),
    PrivateElasticNet(),
    SparseDPSGDClassifier(),
    SparseDPSGDRegressor(),
    StableSGDClassifier(),
    StableSGDRegressor(),
)

#: As `ESTIMATORS`, of networks, whose loss follows from the labels.
NETWORKS = (PrivateMLPClassifier(), PrivateMLPRegressor())

#: As `ESTIMATORS`, of those computed from moments or by a plan of their own, whose loss is given.
RIDGES = (
    PrivateRidge(),
    PrivateRidgeClassifier(),
    PrivateLinearClassifier(),
    PrivateLinearRegressor(),
)


def ridges():
    """Ridge models: the defaults first, then each relation and choice."""
    yield from RIDGES
    yield PrivateRidge(neighbours="replace-one", fit_intercept=False, alpha=1.0, y_bound=5.0)
    yield PrivateRidge(neighbours="zero-out", shrinkage="adassp", intercept_scaling=1.0)
    yield PrivateRidgeClassifier(neighbours="replace-one", shrinkage="adassp", epsilon=5.0)
    yield PrivateRidgeClassifier(neighbours="zero-out", fit_intercept=False)
    yield PrivateLinearClassifier(
        mechanism="descent",
        neighbours="replace-one",
        epsilon=30.0,
        probability_correction="clipping",
    )
    yield PrivateLinearClassifier(
        neighbours="add-or-remove-one", expected_samples=50, probability_correction="noise"
    )
    yield PrivateLinearRegressor(mechanism="descent", y_bound=5.0, epsilon=30.0)
    yield PrivateLinearRegressor(mechanism="ridge", neighbours="zero-out")
    yield PrivateLinearRegressor(mechanism="sparse_dpsgd")


#: As `ESTIMATORS`, of those around another estimator.
WRAPPERS = (StabilityOutputPerturbation(LogisticRegression()),)


def wrappers():
    """Wrappers around a model of each registered class: the defaults first."""
    yield from WRAPPERS
    for classifier in (
        LinearSVC(loss="hinge"),
        SVC(kernel="linear"),
        RidgeClassifier(),
        SGDClassifier(loss="log_loss", alpha=0.1),
        LogisticRegression(l1_ratio=0.3, solver="saga", C=0.1),
    ):
        yield StabilityOutputPerturbation(classifier)
    for regressor in (Ridge(), ElasticNet(), LinearSVR(), SVR(kernel="linear"), SGDRegressor()):
        yield StabilityOutputPerturbation(regressor, y_bound=5.0, delta=1e-6)


#: As `WRAPPERS`, of searches.
SEARCHES = (
    PrivateGridSearchCV(PrivateElasticNetClassifier(), {"alpha": [0.01, 0.1, 1.0]}, epsilon=10.0),
    PrivateRandomizedSearchCV(PrivateElasticNet(), {"alpha": [0.1, 1.0]}, n_iter=2),
)


def searches():
    """Searches: the defaults first, then the other strategy and prices with delta."""
    yield from SEARCHES
    yield PrivateGridSearchCV(
        PrivateElasticNet(), {"alpha": [0.1, 1.0]}, strategy="exponential", delta=1e-6
    )
    yield PrivateRandomizedSearchCV(
        PrivateElasticNetClassifier(), {"alpha": [0.1, 1.0]}, n_iter=2, trials="poisson", delta=1e-6
    )


#: As `ESTIMATORS`, of those that learn from documents: `data_for` makes some.
WORD_MODELS = (
    PrivateCBOW(4, vocabulary=["cat", "dog", "emu"], n_epochs=2, batch_size=20),
    PrivateVocabulary(3, candidates=["cat", "dog", "emu"]),
)


def word_models():
    """Models of documents: the defaults first, then each kind of step, unit and domain."""
    yield from WORD_MODELS
    small = {"vocabulary": ["cat", "dog", "emu"], "n_epochs": 2, "batch_size": 20}
    for selector in ("gaussian", "exponential", "adafest"):
        yield PrivateCBOW(4, selector=selector, n_selected=1, **small)
    yield PrivateCBOW(4, unit="example", optimizer="sgd", learning_rate=0.1, **small)
    yield PrivateVocabulary(3, neighbours="add-or-remove-one", max_contributions=2)


def data_for(estimator, X, y):
    """Return rows and labels, or, for models of documents, as many documents and no labels."""
    if type(estimator) not in map(type, WORD_MODELS):
        return X, y
    words = ("cat", "dog", "emu", "gnu")
    return ([" ".join(words[(i * j) % 4] for j in range(1, 6)) for i in range(len(X))],)


#: As `ESTIMATORS`, of those that transform rows and have no loss.
TRANSFORMERS = (
    PrivatePCA(),
    PrivateSelectKBest(),
    # scikit-learn's checks seed a parameter called random_state, but none of a nested estimator.
    PrivateSelectFromModel(PrivateElasticNetClassifier(threshold="auto", random_state=0)),
)


def transformers():
    """Transformers that learn from private rows: the defaults first, then each way to centre."""
    yield from TRANSFORMERS
    yield PrivatePCA(1, neighbours="replace-one", center=0.5, epsilon=5.0)
    yield PrivatePCA(center="private")
    yield PrivateSelectKBest("product", k=1, y_range=(-5.0, 5.0), delta=0.0)
    yield PrivateSelectKBest(mechanism="gaussian", value_range=None, row_norm=2.0)
    yield PrivateImputer()
    yield PrivateImputer((-10.0, 10.0), delta=0.0, neighbours="add-or-remove-one")
    yield PrivateQuantileClipper()
    yield PrivateMinMaxScaler(delta=0.0, neighbours="replace-one")
    yield PrivateStandardScaler(neighbours="add-or-remove-one")
    yield PrivateStandardScaler(method="quartiles", clip=None)
    yield PrivateStandardScaler(method="moments", neighbours="add-or-remove-one")
    yield PrivateQuantileClipper(target="row_norm", quantiles=0.8)
    yield PrivateOneHotEncoder()
    yield PrivateOneHotEncoder(
        drop="first", sparse_output=True, handle_unknown="ignore", neighbours="replace-one"
    )


def private_sgd():
    """DP-SGD estimators: the defaults first, then each selector, sampling and loss."""
    yield SparseDPSGDClassifier()
    yield SparseDPSGDRegressor()
    for selector in ("gaussian", "exponential", "sparse_vector", "adafest"):
        yield SparseDPSGDClassifier(selector=selector)
    for sampling in ("shuffled", "full"):
        yield SparseDPSGDClassifier(sampling=sampling)
    yield SparseDPSGDClassifier(loss="squared_hinge", optimizer="adam")
    yield SparseDPSGDRegressor(alpha=0.1, fit_intercept=False)


def stable_sgd():
    """Stable SGD: the defaults first, then each loss and each of the choices."""
    yield StableSGDClassifier()
    yield StableSGDRegressor()
    for loss in ("huber_hinge", "hinge", "squared_hinge"):
        yield StableSGDClassifier(loss, average="suffix", l1_ratio=0.3)
    yield StableSGDRegressor("squared_error", y_bound=5.0, batch_size=3)
    yield StableSGDRegressor("absolute_error", noise="gaussian", delta=1e-6)
    yield StableSGDClassifier(
        learning_rate=ConstantStep(0.5),
        participation=SomePasses(0.5),
        probability_correction="noise",
    )
    yield StableSGDClassifier(learning_rate="optimal", alpha=0.1, projection=Ball(3.0))
    yield StableSGDClassifier(
        learning_rate="invscaling", eta0=0.5, participation=ExampleDropout(0.1), n_epochs=2
    )
