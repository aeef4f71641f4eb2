"""Models without a worst-case bound, each with the reason and what to use instead."""

from skdp.stability.records import RefusedModel

_CLASSIFY = "Use PrivateElasticNetClassifier, or wrap LogisticRegression."
_REGRESS = "Use PrivateElasticNet, or wrap Ridge."
_NO_PENALTY = "nothing keeps its minimiser unique: one record can move it by any amount."
_L1_ALONE = (
    "an L1 penalty alone leaves no strong convexity: one record can move the minimiser by any "
    "amount."
)
_CHOSEN = (
    "the penalty is chosen on the data that it is fitted to, so one record can change it and move "
    "the model by any amount."
)
_NO_WEIGHTS = "it has no vector of weights that noise could be added to."
_NETWORK = (
    "training reaches some local minimum, and the worst case of its distance grows exponentially "
    "with the number of steps."
)
_NETWORK_INSTEAD = (
    "Use PrivateMLPClassifier or PrivateMLPRegressor (noise in every step). For a frozen network, "
    "declare stability=ParameterStability(l2=...)."
)
_PASSIVE = (
    "each step is as long as the record at hand asks for, and descends no penalised objective."
)
_GENERALISED = "its slope grows with exp(score): no certified solver for it is here."

RECORDS = (
    RefusedModel(
        "Perceptron",
        "the penalised minimum is 0, and what it reaches instead depends on the order of the rows; "
        "no worst-case bound is known.",
        _CLASSIFY + " SparseDPSGDClassifier adds noise to every step.",
    ),
    RefusedModel(
        "HuberRegressor",
        "it also fits a scale, through which every record changes the slope of all others: the "
        "bound of the Huber loss is exceeded by 2 per cent with 1e5 as alpha.",
        "Use PrivateElasticNet(loss='huber').",
    ),
    RefusedModel("PassiveAggressiveClassifier", _PASSIVE, _CLASSIFY),
    RefusedModel("PassiveAggressiveRegressor", _PASSIVE, _REGRESS),
    *(
        RefusedModel(model, _L1_ALONE, "Use PrivateElasticNet, or wrap ElasticNet.")
        for model in ("Lasso", "LassoLars")
    ),
    RefusedModel("QuantileRegressor", _L1_ALONE, "Wrap LinearSVR(epsilon=0) for the median."),
    *(
        RefusedModel(model, _CHOSEN, "Choose the penalty on public data and wrap the plain model.")
        for model in (
            "LogisticRegressionCV",
            "RidgeCV",
            "RidgeClassifierCV",
            "LassoCV",
            "ElasticNetCV",
            "BayesianRidge",
            "ARDRegression",
        )
    ),
    *(
        RefusedModel(model, _NO_PENALTY, _REGRESS)
        for model in (
            "LinearRegression",
            "Lars",
            "OrthogonalMatchingPursuit",
            "TheilSenRegressor",
            "RANSACRegressor",
        )
    ),
    *(
        RefusedModel(model, _GENERALISED, _REGRESS)
        for model in ("PoissonRegressor", "GammaRegressor", "TweedieRegressor")
    ),
    RefusedModel(
        "MultiTaskElasticNet",
        "its penalty couples the tasks, and no certified solver for it is here.",
        "Wrap ElasticNet, one task at a time: the budgets add up.",
    ),
    RefusedModel(
        "NuSVC",
        "nu fixes a share of the records instead of a penalty: the data decide the scale of the "
        "weights.",
        "Wrap SVC(kernel='linear') or LinearSVC.",
    ),
    RefusedModel(
        "NuSVR",
        "nu lets the data choose the width of the tube, which one record can change.",
        "Wrap SVR(kernel='linear') or LinearSVR.",
    ),
    *(
        RefusedModel(
            model, "its offset is not penalised.", "No private model of this kind is here."
        )
        for model in ("OneClassSVM", "SGDOneClassSVM")
    ),
    *(
        RefusedModel(
            model,
            "it inverts a covariance that one record can make singular.",
            _CLASSIFY,
        )
        for model in ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis")
    ),
    RefusedModel("GaussianNB", "it divides by variances that one record can change.", _CLASSIFY),
    RefusedModel(
        "KernelRidge", "it predicts from training rows, which cannot be released.", _REGRESS
    ),
    *(
        RefusedModel(model, _NETWORK, _NETWORK_INSTEAD)
        for model in ("MLPClassifier", "MLPRegressor")
    ),
    *(
        RefusedModel(model, _NO_WEIGHTS, instead)
        for instead, models in (
            (
                _CLASSIFY,
                (
                    "DecisionTreeClassifier",
                    "RandomForestClassifier",
                    "GradientBoostingClassifier",
                    "HistGradientBoostingClassifier",
                    "KNeighborsClassifier",
                ),
            ),
            (
                _REGRESS,
                (
                    "DecisionTreeRegressor",
                    "RandomForestRegressor",
                    "GradientBoostingRegressor",
                    "HistGradientBoostingRegressor",
                    "KNeighborsRegressor",
                ),
            ),
        )
        for model in models
    ),
    RefusedModel(
        "PCA", "its directions turn by any angle where two eigenvalues meet.", "Use PrivatePCA."
    ),
    RefusedModel(
        "Pipeline",
        "steps before the model would learn from all rows.",
        "Wrap the last step, and make a pipeline of public transformers and the wrapper.",
    ),
    *(
        RefusedModel(model, _CHOSEN, "Wrap the model inside; every fit of a search spends.")
        for model in ("GridSearchCV", "RandomizedSearchCV")
    ),
    RefusedModel(
        "batch normalisation",
        "a record's gradient depends on the other records of its batch, so replacing one changes "
        "all of their contributions.",
        "Use networks without it: PrivateMLPClassifier has none.",
    ),
    RefusedModel(
        "sampling with replacement",
        "the bounds of Hardt, Recht and Singer (2016) hold on average over the draws, not for "
        "each: a record drawn in every step moves the model n times further.",
        "Use passes over permutations (Wu et al. 2017), or noise in every step.",
    ),
    RefusedModel(
        "momentum and Nesterov steps",
        "for losses other than quadratic ones two runs can drift apart exponentially.",
        "Use them as a solver for a certified minimiser, not as a stable algorithm.",
    ),
    RefusedModel(
        "dropout of coordinates",
        "a step with a masked gradient is no contraction.",
        "Drop whole records instead.",
    ),
    RefusedModel(
        "clipped gradients of vector outputs",
        "a step with a clipped gradient is no contraction.",
        "Clip rows and labels, or add noise in every step.",
    ),
)
