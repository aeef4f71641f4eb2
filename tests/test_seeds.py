"""Seeds are for tests: they warn, repeat the noise, and leave no trace in a fitted model."""

import contextlib
import copy
import io
import os
import pickle
import warnings

import joblib
import numpy as np
import pytest
import sklearn
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_html_repr

from skdp.exceptions import PrivacyLeakWarning
from skdp.linear_model import (
    PrivateElasticNet,
    PrivateElasticNetClassifier,
    SparseDPSGDClassifier,
    SparseDPSGDRegressor,
)
from skdp.neural_network import PrivateMLPClassifier, PrivateMLPRegressor
from skdp.preprocessing import RowNormClipper
from skdp.privacy.statement import SEEDED_NOISE, SYSTEM_NOISE
from tests.support.instances import WORD_MODELS, data_for

SEED = 918273645
X = np.random.default_rng(4).normal(size=(30, 3))
y = (X[:, 0] > 0).astype(int)


def maker(instance):
    """Return what makes clones of an instance with other parameters, named as its class."""

    def made(**parameters):
        return clone(instance).set_params(**parameters)

    made.__name__ = type(instance).__name__
    return made


ESTIMATORS = pytest.mark.parametrize(
    "estimator",
    [
        PrivateElasticNetClassifier,
        PrivateElasticNet,
        SparseDPSGDClassifier,
        SparseDPSGDRegressor,
        PrivateMLPClassifier,
        PrivateMLPRegressor,
        # A model of documents is named by an instance, for want of a default that fits any.
        *map(maker, WORD_MODELS),
    ],
    ids=lambda made: made.__name__,
)


def fit(model):
    """Fit a model to rows, or to documents. It is called where warnings are said to come from."""
    return model.fit(*data_for(model, X, y))


def released(model):
    """Return weights and intercepts, word vectors, or noisy counts, flat."""
    if hasattr(model, "vocabulary_"):
        return np.array(model.vocabulary_.counts)
    names = ("coef_", "intercept_", "coefs_", "intercepts_", "vectors_")
    parts = [getattr(model, name) for name in names if hasattr(model, name)]
    arrays = [a for part in parts for a in (part if isinstance(part, list) else [part])]
    return np.concatenate([np.ravel(array) for array in arrays])


@ESTIMATORS
def test_a_seed_warns_where_fit_was_called_and_the_statement_records_it(estimator):
    with pytest.warns(PrivacyLeakWarning, match="can subtract the noise") as caught:
        model = fit(estimator(random_state=SEED))
    assert [warning.filename for warning in caught] == [__file__]
    assert model.privacy_.noise == SEEDED_NOISE
    assert "SEEDED" in model.privacy_.explain()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fit(estimator())
    assert model.privacy_.noise == SYSTEM_NOISE


@ESTIMATORS
@pytest.mark.parametrize(
    "make",
    [lambda: SEED, lambda: np.int64(SEED), lambda: np.random.RandomState(SEED),
     lambda: np.random.default_rng(SEED)],
    ids=["int", "numpy int", "RandomState", "Generator"],
)  # fmt: skip
def test_the_same_seed_gives_the_same_model(estimator, make):
    first = fit(estimator(random_state=make()))
    second = fit(estimator(random_state=make()))
    assert np.array_equal(released(first), released(second))
    other = fit(estimator(random_state=SEED + 1))
    assert not np.array_equal(released(first), released(other))


@pytest.mark.parametrize("kind", [np.random.RandomState, np.random.default_rng])
def test_a_generator_goes_on_from_fit_to_fit(kind):
    model = PrivateElasticNet(random_state=kind(SEED))
    assert not np.array_equal(model.fit(X, y).coef_, model.fit(X, y).coef_)


def fitted_models():
    classifier = PrivateElasticNetClassifier(random_state=SEED, classes=[0, 1])
    model = clone(classifier).fit(X, y)
    search = GridSearchCV(classifier, {"alpha": [0.1, 1.0]}, cv=2).fit(X, y)
    pipeline = make_pipeline(RowNormClipper(), classifier)
    return {
        "classifier": model,
        "regressor": PrivateElasticNet(random_state=SEED).fit(X, y),
        "RandomState": PrivateElasticNet(random_state=np.random.RandomState(SEED)).fit(X, y),
        "refitted": clone(classifier).fit(X, y).fit(X, y),
        "copy": copy.copy(model),
        "deep copy": copy.deepcopy(model),
        "pipeline": clone(pipeline).fit(X, y),
        "nested pipeline": make_pipeline(make_pipeline(clone(pipeline))).fit(X, y),
        "best of a search": search.best_estimator_,
        "frozen": FrozenEstimator(model),
        "calibrated": CalibratedClassifierCV(FrozenEstimator(model)).fit(X, y),
        "selector": SelectFromModel(model, prefit=True),
        "plain pipeline": model.to_sklearn(),
    }  # fmt: skip


def saved(model):
    """All the forms in which a model may be stored."""
    stream = io.BytesIO()
    joblib.dump(model, stream)
    yield stream.getvalue()
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        yield pickle.dumps(model, protocol)


def shown(model):
    """All the forms in which a model may be printed."""
    for display in ("text", "diagram"):
        for changed_only in (True, False):
            with sklearn.config_context(display=display, print_changed_only=changed_only):
                yield repr(model)
                yield f"{model} {model!s:.900}"
                yield str(model._repr_mimebundle_())
                yield estimator_html_repr(model)
    with sklearn.config_context(display="diagram"):
        yield model._repr_html_()


STATE = np.random.RandomState(SEED).get_state()[1]


def test_no_pickle_and_no_picture_of_a_fitted_model_carries_the_seed():
    for name, model in fitted_models().items():
        for form in saved(model):
            assert str(SEED).encode() not in form, name
            assert SEED.to_bytes(4, "little") not in form, name
            assert STATE[5:20].tobytes() not in form, name
        for text in shown(model):
            assert str(SEED) not in text, name


def test_the_search_for_the_seed_would_find_it():
    unfitted = PrivateElasticNetClassifier(random_state=SEED)
    assert any(SEED.to_bytes(4, "little") in form for form in saved(unfitted))
    assert all(str(SEED) in text for text in shown(unfitted))
    state = PrivateElasticNetClassifier(random_state=np.random.RandomState(SEED))
    assert any(STATE[5:20].tobytes() in form for form in saved(state))


@ESTIMATORS
def test_parameters_keep_the_seed_and_so_does_a_clone(estimator):
    model = fit(estimator(random_state=SEED))
    assert model.random_state == SEED
    assert model.get_params()["random_state"] == SEED
    assert model.get_params(deep=False)["random_state"] == SEED
    assert clone(model).get_params()["random_state"] == SEED
    assert np.array_equal(released(fit(clone(model))), released(model))
    restored = pickle.loads(pickle.dumps(model))
    assert restored.random_state is None
    assert np.array_equal(released(restored), released(model))
    if hasattr(model, "predict"):
        assert np.array_equal(restored.predict(X), model.predict(X))
    assert pickle.loads(pickle.dumps(estimator(random_state=SEED))).random_state == SEED


# ---------------------------------------------------------------------- the noise of the system


#: Models that draw their noise in different ways: of a linear model, of vectors, of counts.
DRAWING = pytest.mark.parametrize(
    "model",
    [PrivateElasticNetClassifier(classes=[0, 1]), *WORD_MODELS],
    ids=lambda model: type(model).__name__,
)


def release(model):
    return np.ascontiguousarray(released(fit(model))).tobytes()


def distinct(releases):
    return len(set(releases)) == len(releases)


@DRAWING
def test_fits_draw_fresh_noise(model):
    assert distinct([release(model) for _ in range(20)])
    assert distinct([release(clone(model)) for _ in range(20)])
    np.random.seed(0)  # noqa: NPY002
    first = release(clone(model))
    np.random.seed(0)  # noqa: NPY002
    assert first != release(clone(model))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@DRAWING
def test_forked_children_and_their_parent_draw_different_noise(model):
    model = fit(clone(model))
    size = len(release(clone(model)))
    releases = []
    for _ in range(3):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                os.write(writer, release(model) + release(clone(model)))
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as stream:
            sent = stream.read()
        os.waitpid(child, 0)
        assert len(sent) == 2 * size
        releases += [sent[:size], sent[size:]]
    assert distinct([*releases, release(model), release(clone(model))])


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
@DRAWING
def test_workers_draw_different_noise(model, backend):
    model = fit(clone(model))
    data = data_for(model, X, y)
    models = Parallel(n_jobs=2, backend=backend)(delayed(clone(model).fit)(*data) for _ in range(8))
    assert distinct([released(model).tobytes() for model in [model, *models]])
