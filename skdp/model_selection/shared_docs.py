"""Parts of docstrings that both searches share."""

__all__ = ["COMMON"]

COMMON = """
    epsilon : float, default=1.0
        Privacy loss of the whole search. More than 15 is planned as 15.
    delta : float, default=0.0
        Of the whole search, in [0, 1).
    strategy : {"random", "exponential"}, default="random"
        "random" fits a random number of candidates, drawn with replacement, on all rows that are
        not held out; each costs about half of epsilon, however many candidates there are.
        "exponential" fits each candidate once, on rows of its own, with all of epsilon.
    trials : {"auto", "logarithmic", "geometric", "poisson"}, default="auto"
        The law of the number of trials, for "random". "auto" is "poisson" with delta above 0, and
        "logarithmic" for 0, which Poisson has no guarantee for. Of the laws of one mean,
        "logarithmic" is often 1, where the search is a random choice; "poisson" hardly ever.
    n_trials : float, default=10.0
        Its mean, above 1.
    held_out : float, default=0.2
        Share of the rows that are kept for scores.
    error_bound : float, default=1.0
        For a regressor, the error from which on a row earns nothing. A classifier scores accuracy.
    n_jobs : int or None, default=None
        Number of threads.
    verbose : int, default=0
        Accepted and without effect: progress would show how many trials there were.
    ledger : Ledger or None, default=None
        Where each search spends, once, before it looks at the rows.
    random_state : None, int, RandomState or Generator, default=None
        For tests only: it warns.

    Attributes
    ----------
    best_estimator_ : estimator
        The winner as it was fitted for its trial; nothing is fitted again.
    best_params_ : dict
        Its parameters.
    best_score_ : float
        Its noisy score, too high by the luck of the best; NaN for "exponential", which releases
        none.
    cv_results_ : dict
        Of the winner alone.
    classes_ : ndarray of shape (n_classes,)
        Of a classifier.
    n_features_in_ : int
        Number of features.
    privacy_ : PrivacyStatement
        What the whole search promised.

    Notes
    -----
    *Guarantees.* (epsilon, delta)-differential privacy of the winner, its parameters and its score,
    under the relation and for the unit (row, or group) of the estimator, replace-one or zero-out.
    For "random", fit and noisy score of a trial see disjoint units, so that it costs the greater of
    the two. Where delta is above 0, a trial is priced by the Renyi divergences of what the fits
    are, the greatest of the candidates' at each order, and of its score, by Theorems 2 and 6 of
    Papernot and Steinke (2022). Where that is not less, or no divergence is known, it is priced by
    its (e, d): it fails with probability d, whatever the rows, and is e-DP otherwise, so that a
    search in which no trial fails is one among e-DP trials, which is (2 + shape) e-DP, or follows a
    Renyi curve; delta is d E[K] and what the curve takes. The proof is in the documentation, in the
    chapter on private search. Public: the number of units, the columns, the classes, the
    candidates, all parameters. No trial is ever shown; whoever can measure how long the search took
    could guess their number, which the guarantee does not cover.

    A fit that fails on some rows counts as one that has seen none: an error would tell that its
    candidate was drawn. What can be refused without looking at a trial is refused before anything
    is spent.

    References
    ----------
    Papernot and Steinke (2022), Hyperparameter tuning with Renyi differential privacy, Theorems 2
    and 6. Chaudhuri, Monteleoni and Sarwate (2011), Differentially private empirical risk
    minimization, section 6.
"""
