"""Reports of every public estimator, fitted for real: they render, and say what is no guarantee."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from skdp.decomposition import PrivatePCA
from skdp.embedding import PrivateVocabulary
from skdp.exceptions import PrivacyLeakWarning
from skdp.linear_model import PrivateElasticNetClassifier, PrivateRidge, PrivateRidgeClassifier
from skdp.meta import StabilityOutputPerturbation
from skdp.pipeline import make_private_pipeline
from skdp.preprocessing import PrivateOneHotEncoder, PrivateStandardScaler
from skdp.privacy import InMemoryLedger, PrivacyStatement, composed_statement
from skdp.reporting import write_model_card, write_report
from tests.support.instances import (
    ESTIMATORS,
    NETWORKS,
    RIDGES,
    TRANSFORMERS,
    WORD_MODELS,
    WRAPPERS,
    data_for,
    word_models,
)
from tests.support.instances import transformers as more
from tests.test_report import EVIL, Page

N = 120
X = np.random.default_rng(0).uniform(-0.5, 0.5, (N, 4))
y = np.arange(N) % 2
ALL = [*ESTIMATORS, *NETWORKS, *RIDGES, *WRAPPERS, *more(), *word_models()]
#: Curves of the others take seconds.
FAST = (
    PrivateElasticNetClassifier, PrivateOneHotEncoder, PrivatePCA, PrivateRidge, PrivateVocabulary
)  # fmt: skip
#: Closed forms.
GAUSSIAN = {"method": "moments", "neighbours": "replace-one"}
SEEDED, UNVERIFIED = "The noise was seeded", "declared by the user, not proved"


def fitted(model, **given):
    """Fit a clone; delta is large for so few rows, and a seed is for tests: both warn."""
    model = clone(model).set_params(**given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        return model.fit(*data_for(model, X, y))


def rendered(statement, folder, **given):
    """Return the page and the card."""
    page, card = folder / "r.html", folder / "c.md"
    write_report(statement, page, **given)
    write_model_card(statement, card, estimator=given.get("estimator"))
    return page.read_text(encoding="utf-8"), card.read_text(encoding="utf-8")


def test_every_transformer_is_among_the_models():
    assert {type(model) for model in (*TRANSFORMERS, *WORD_MODELS)} <= {type(m) for m in ALL}


CASES = [
    pytest.param(
        model,
        id=f"{type(model).__name__}-{place}",
        marks=() if type(model) in FAST else pytest.mark.slow,
    )
    for place, model in enumerate(ALL)
]


@pytest.mark.parametrize("model", CASES)
def test_a_seeded_fit_renders_and_says_so_at_the_top_of_everything(model, tmp_path):
    prefix = "" if "random_state" in model.get_params() else "estimator__"
    model = fitted(model, **{f"{prefix}random_state": 8675309})
    page, card = rendered(model.privacy_, tmp_path, estimator=model)
    main = page[page.index("<main>") :]
    assert main.startswith(f'<main><p role="alert">{SEEDED}')
    assert card.splitlines()[2].startswith(f"**Warning: {SEEDED}")
    for text in (page, card, repr(model), model.privacy_.to_json(), model.privacy_.explain()):
        assert "8675309" not in text
    assert "SEEDED" in model.privacy_.headline
    assert Page(page).named("svg")
    assert PrivacyStatement.from_dict(model.privacy_.to_dict()).headline == model.privacy_.headline


def test_a_release_on_somebodys_word_says_so_even_within_a_composition(tmp_path):
    frozen = FrozenEstimator(LogisticRegression(C=0.01, solver="liblinear").fit(X, y))
    on_trust = StabilityOutputPerturbation(frozen, epsilon=2.0, n_samples=N).fit()
    sound = fitted(PrivateElasticNetClassifier())
    for statement in (on_trust.privacy_, composed_statement([sound.privacy_, on_trust.privacy_])):
        page, card = rendered(statement, tmp_path)
        assert page.index(UNVERIFIED) < page.index("Guarantee")
        assert UNVERIFIED in card.split("## ")[0]
        assert "unverified" in statement.headline
        assert "unverified" in repr(statement)
    page, card = rendered(sound.privacy_, tmp_path)
    assert UNVERIFIED not in page + card


def test_a_seeded_step_makes_a_whole_pipeline_say_so(tmp_path):
    seeded = PrivateStandardScaler((-1, 1), **GAUSSIAN, random_state=1)
    model = PrivateRidgeClassifier(classes=[0, 1], neighbours="replace-one")
    whole = fitted(make_private_pipeline(seeded, model))
    page, card = rendered(whole.privacy_, tmp_path, estimator=whole)
    assert SEEDED in page
    assert SEEDED in card


def test_no_name_of_a_column_a_step_or_a_class_becomes_markup(tmp_path):
    evil = EVIL.replace("\x00", "").replace("\ud800", "").replace("__", "")
    frame = pd.DataFrame(X, columns=[evil, "b", "c", "d"])
    bounds = dict.fromkeys(frame.columns, (-1.0, 1.0))
    scaler = PrivateStandardScaler(bounds, **GAUSSIAN)
    columns = ColumnTransformer([("<i>step</i>", scaler, list(frame.columns))], sparse_threshold=0)
    model = PrivateRidgeClassifier(classes=["<b>no</b>", evil], neighbours="replace-one")
    private = make_private_pipeline(columns, model, epsilon=1.0)
    private.fit(frame, np.array(["<b>no</b>", evil])[y])
    ledger = InMemoryLedger(9.0, 0.1, "replace-one")
    ledger.spend(private.privacy_, purpose=evil)
    for estimator in (private, scaler, model):
        page, card = rendered(
            private.privacy_, tmp_path, estimator=estimator, ledger=ledger, title=evil
        )
        tags = {tag for tag, _ in Page(page).elements}
        assert not {"script", "img", "a", "i", "b", "iframe"} & tags
        assert "<i>" not in card
        assert "<script>" not in card
    assert "&lt;i&gt;step" in page or "&lt;b&gt;no" in page
