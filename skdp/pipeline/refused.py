"""What to use instead of steps that publish what they learned from rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

__all__ = ["UNKNOWN", "Refusal", "refusal_of"]


@final
@dataclass(frozen=True)
class Refusal:
    """Why a class is refused whatever its parameters, and what to use instead."""

    why: str
    instead: str


_SCALER = "skdp.preprocessing.PrivateStandardScaler, or PublicRangeScaler with declared ranges"
_RANGE = "skdp.preprocessing.PublicRangeScaler with declared ranges, or PrivateMinMaxScaler"
_QUANTILES = "skdp.preprocessing.PrivateQuantileClipper, or PublicRangeScaler with declared ranges"
_PCA = "skdp.decomposition.PrivatePCA"
_SELECT = "skdp.feature_selection.PrivateSelectKBest"
_WRAP = "skdp.feature_selection.PrivateSelectFromModel around a private model"
_HASHED = (
    "HashingVectorizer, whose columns are a fixed hash: counts without weights learned from other "
    "people's texts"
)
_CLASSIFIER = (
    "skdp.linear_model.SparseDPSGDClassifier or PrivateElasticNetClassifier, or "
    "skdp.meta.StabilityOutputPerturbation around this model where its stability is known"
)
_REGRESSOR = (
    "skdp.linear_model.SparseDPSGDRegressor or PrivateElasticNet, or "
    "skdp.meta.StabilityOutputPerturbation around this model where its stability is known"
)
_SEARCH = "skdp.model_selection.PrivateGridSearchCV, around a private pipeline"
_LABELS = "the estimator's parameter classes=..., which declares the labels"

#: Names of classes of scikit-learn, since most pipelines import none of them.
_REFUSED: Mapping[str, Refusal] = {
    "StandardScaler": Refusal("it publishes mean and variance of each column", _SCALER),
    "MinMaxScaler": Refusal("it publishes the two most extreme values of each column", _RANGE),
    "MaxAbsScaler": Refusal("it publishes the most extreme value of each column", _RANGE),
    "RobustScaler": Refusal("it publishes values of single rows, as quantiles", _QUANTILES),
    "QuantileTransformer": Refusal("it publishes values of single rows, as quantiles", _QUANTILES),
    "PowerTransformer": Refusal(
        "its exponents, means and variances are learned from the rows",
        "FunctionTransformer(numpy.log1p), then PrivateStandardScaler",
    ),
    "KBinsDiscretizer": Refusal(
        "its edges are extremes, quantiles or centres of the rows",
        "FunctionTransformer(RowByRow(function)) around numpy.digitize with declared edges",
    ),
    "KernelCenterer": Refusal("it publishes means over rows", _SCALER),
    "LabelEncoder": Refusal("it is for y, and publishes which labels occur", _LABELS),
    "LabelBinarizer": Refusal("it is for y, and publishes which labels occur", _LABELS),
    "MultiLabelBinarizer": Refusal("it publishes which labels occur", _LABELS),
    "TargetEncoder": Refusal(
        "it publishes the mean target of each category, of a single person's where it is rare",
        "OneHotEncoder with declared categories",
    ),
    "KNNImputer": Refusal(
        "it keeps all rows, and fills in values of others",
        "SimpleImputer(strategy='constant', fill_value=..., keep_empty_features=True), or "
        "skdp.preprocessing.PrivateImputer",
    ),
    "IterativeImputer": Refusal(
        "its regressions are learned from the rows without noise",
        "SimpleImputer(strategy='constant', fill_value=..., keep_empty_features=True), or "
        "skdp.preprocessing.PrivateImputer",
    ),
    "CountVectorizer": Refusal("its vocabulary is words of single texts", _HASHED),
    "TfidfVectorizer": Refusal("its vocabulary and weights are learned from the texts", _HASHED),
    "TfidfTransformer": Refusal("its weights count in how many texts a word is", _HASHED),
    "DictVectorizer": Refusal("its columns are the keys that occur", "FeatureHasher"),
    "PatchExtractor": Refusal("it makes many rows of one", "a bound on the rows of one person"),
    "VarianceThreshold": Refusal("which columns stay follows variances without noise", _SELECT),
    "GenericUnivariateSelect": Refusal("which columns stay follows scores without noise", _SELECT),
    **{
        name: Refusal("which columns stay follows scores without noise", _SELECT)
        for name in ("SelectKBest", "SelectPercentile", "SelectFpr", "SelectFdr", "SelectFwe")
    },
    **{
        name: Refusal("which columns stay follows fits and scores without noise", _WRAP)
        for name in ("SelectFromModel", "RFE", "RFECV", "SequentialFeatureSelector")
    },
    **{
        name: Refusal("its directions are learned from the rows without noise", _PCA)
        for name in (
            "PCA",
            "IncrementalPCA",
            "TruncatedSVD",
            "FactorAnalysis",
            "FastICA",
            "NMF",
            "MiniBatchNMF",
            "SparsePCA",
            "DictionaryLearning",
            "LatentDirichletAllocation",
            "LinearDiscriminantAnalysis",
            "PLSRegression",
        )
    },
    "KernelPCA": Refusal("it keeps all rows", f"RBFSampler, then {_PCA}"),
    "Nystroem": Refusal("it keeps single rows", "RBFSampler with a declared gamma"),
    "KMeans": Refusal(
        "its centres are means of few rows, without noise", "RBFSampler with a declared gamma"
    ),
    **{
        name: Refusal("its choice follows scores without noise", _SEARCH)
        for name in (
            "GridSearchCV",
            "RandomizedSearchCV",
            "HalvingGridSearchCV",
            "HalvingRandomSearchCV",
        )
    },
}
_BY_MIXIN: Mapping[str, Refusal] = {
    "ClassifierMixin": Refusal("it is fitted without noise", _CLASSIFIER),
    "RegressorMixin": Refusal("it is fitted without noise", _REGRESSOR),
}
#: A class that nobody here has looked at.
UNKNOWN = Refusal(
    "this class is not known to learn nothing from rows, and makes no privacy statement",
    "a step of docs/pipelines.md; or, if it learns nothing from private rows and maps each row by "
    "itself, name it in public=[...], which vouches for it",
)


def refusal_of(step: Any) -> Refusal | None:
    """Return why a step is refused; None for a class that nobody has looked at.

    A subclass is refused as the class of scikit-learn that it derives from.
    """
    names = [cls.__name__ for cls in type(step).__mro__ if cls.__module__.startswith("sklearn.")]
    for table in (_REFUSED, _BY_MIXIN):
        for name in names:
            if name in table:
                return table[name]
    return None
