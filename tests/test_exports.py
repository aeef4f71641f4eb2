"""Exported, saved and stored otherwise: the models stay the same."""

import io
import pickle

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from skdp.linear_model import PrivateElasticNet, PrivateElasticNetClassifier
from skdp.preprocessing import RowNormClipper
from skdp.privacy import InMemoryLedger
from tests.support.frames import FRAME, FRAMES, D, N, X, binary, three
from tests.support.replay import fit_trace

CONTAINERS = {
    "dense": X,
    "Fortran": np.asfortranarray(X),
    "float32": X.astype(np.float32),
    "CSR": sparse.csr_matrix(X),
    "CSR array": sparse.csr_array(X),
    "float32 CSR": sparse.csr_matrix(X.astype(np.float32)),
    **FRAMES,
}
EXPORTED = {
    "binary": (PrivateElasticNetClassifier(), binary),
    "names": (PrivateElasticNetClassifier(), np.array(["no", "yes"])[binary]),
    "softmax": (PrivateElasticNetClassifier(threshold="auto"), three),
    "no intercept": (PrivateElasticNetClassifier(fit_intercept=False), three),
    "Huber hinge": (PrivateElasticNetClassifier("huber_hinge", row_norm=2.0), binary),
    "squared hinge": (PrivateElasticNetClassifier("squared_hinge", epsilon=9), binary),
    "Huber": (PrivateElasticNet(), X[:, 0]),
    "squared error": (PrivateElasticNet("squared_error", y_bound=1.0), X[:, 0]),
    "Huber without intercept": (PrivateElasticNet(fit_intercept=False), X[:, 0]),
}
#: What is handed to their mechanism is an objective, not a minimiser.
TILTED = {
    "objective": (PrivateElasticNetClassifier(perturbation="objective"), binary),
    "softmax objective": (PrivateElasticNetClassifier(perturbation="objective"), three),
    "log cosh": (PrivateElasticNet("log_cosh", perturbation="objective"), X[:, 0]),
}
ALL = {**EXPORTED, **TILTED}


@pytest.mark.parametrize("rows", CONTAINERS.values(), ids=CONTAINERS.keys())
@pytest.mark.parametrize(("model", "y"), ALL.values(), ids=ALL.keys())
def test_the_exported_pipeline_is_plain_and_predicts_the_same_bits(rows, model, y):
    model = clone(model).fit(rows, y)
    plain = model.to_sklearn()
    assert type(plain[0]) is RowNormClipper
    assert type(plain[-1]).__module__.startswith("sklearn.")
    for some in (rows, rows[:1], rows[5:17]):
        assert np.array_equal(plain.predict(some), model.predict(some))
        if hasattr(model, "decision_function"):
            assert np.array_equal(plain.decision_function(some), model.decision_function(some))
        if hasattr(model, "predict_proba"):
            ours, theirs = model.predict_proba(some), plain.predict_proba(some)
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-15)
    assert plain.n_features_in_ == D
    assert hasattr(plain, "feature_names_in_") == hasattr(model, "feature_names_in_")


def test_the_exported_model_is_a_copy():
    model = PrivateElasticNetClassifier().fit(X, binary)
    plain = model.to_sklearn()
    before, intercept = model.coef_.copy(), model.intercept_.copy()
    plain[-1].coef_ += 1
    plain[-1].intercept_ += 1
    plain[-1].classes_[:] = 7
    assert np.array_equal(model.coef_, before)
    assert np.array_equal(model.intercept_, intercept)
    assert model.classes_.tolist() == [0, 1]


TRUSTED = ["skdp.preprocessing.row_norm.RowNormClipper"]


@pytest.mark.parametrize(("model", "y"), EXPORTED.values(), ids=EXPORTED.keys())
def test_exports_are_saved_and_loaded_by_skops_with_one_trusted_class(model, y):
    skops = pytest.importorskip("skops.io", reason="skops is not installed")
    plain = clone(model).fit(FRAME, y).to_sklearn()
    saved = skops.dumps(plain)
    assert skops.get_untrusted_types(data=saved) == TRUSTED
    loaded = skops.loads(saved, trusted=TRUSTED)
    assert np.array_equal(loaded.predict(FRAME), plain.predict(FRAME))


def test_the_trusted_class_is_documented():
    assert TRUSTED[0] in PrivateElasticNetClassifier.to_sklearn.__doc__


@pytest.mark.parametrize(("model", "y"), EXPORTED.values(), ids=EXPORTED.keys())
def test_models_and_exports_survive_joblib_and_pickle(model, y):
    model = clone(model).fit(FRAME, y)
    for saved in (model, model.to_sklearn()):
        stream = io.BytesIO()
        joblib.dump(saved, stream)
        stream.seek(0)
        for loaded in (joblib.load(stream), pickle.loads(pickle.dumps(saved))):
            assert np.array_equal(loaded.predict(FRAME), saved.predict(FRAME))
    restored = pickle.loads(pickle.dumps(model))
    assert restored.privacy_.to_json() == model.privacy_.to_json()
    assert restored.sensitivity_ == model.sensitivity_
    assert restored.flip_probability(0.1) == model.flip_probability(0.1)


@pytest.mark.parametrize("fitted", [False, True])
def test_a_model_with_an_in_memory_ledger_says_why_it_is_not_pickled(fitted):
    ledger = InMemoryLedger(10.0)
    model = PrivateElasticNetClassifier(ledger=ledger)
    if fitted:
        model.fit(X, binary)
    with pytest.raises(
        TypeError, match=r"In one process|Run in one process.*set_params\(ledger=None\)"
    ):
        pickle.dumps(model)
    assert pickle.loads(pickle.dumps(model.set_params(ledger=None))) is not None


# ------------------------------------------------------------------------------ storage and type


@pytest.mark.parametrize(("model", "y"), EXPORTED.values(), ids=EXPORTED.keys())
def test_dense_and_csr_rows_give_the_same_noise_and_nearly_the_same_minimiser(model, y):
    model = clone(model).set_params(alpha=0.1, tol=1e-9)
    dense, csr = (fit_trace(model, (rows, y)) for rows in (X, sparse.csr_matrix(X)))
    assert csr.mechanisms == dense.mechanisms
    assert csr.spent == dense.spent
    # both are certified to lie within tol / (alpha (1 - l1_ratio)) of the minimiser
    assert np.linalg.norm(csr.inputs[0] - dense.inputs[0]) <= 2 * 1e-9 / 0.085


@pytest.mark.parametrize(("model", "y"), EXPORTED.values(), ids=EXPORTED.keys())
def test_float32_rows_give_the_same_noise_and_the_minimiser_up_to_their_rounding(model, y):
    model = clone(model).set_params(alpha=0.1, tol=1e-9)
    double, single = (fit_trace(model, (rows, y)) for rows in (X, X.astype(np.float32)))
    assert single.mechanisms == double.mechanisms
    # each row is off by 2^-20 of row_norm, as if every record moved by that share of kappa
    bound = double.mechanisms[0].sensitivity.value * N * 2.0**-19
    assert 0 < np.linalg.norm(single.inputs[0] - double.inputs[0]) <= bound
