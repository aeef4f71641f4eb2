"""A LogisticRegression that is there already, made private in five lines.

The model of a colleague, fitted without a thought of privacy, is not released: its objective is
solved again on clipped rows with the intercept penalised, certified, and released once with noise.
C is set as `plan` suggests: with the default C = 1 the noise would leave nothing.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from skdp.meta import StabilityOutputPerturbation
from skdp.preprocessing import PublicRangeScaler
from skdp.privacy import InMemoryLedger

# Declared from the description of the measurements; values outside are clipped.
RANGES = {
    "worst radius": (5, 40),
    "worst texture": (10, 50),
    "worst smoothness": (0.05, 0.25),
    "worst concave points": (0, 0.3),
}


def main() -> None:
    """Wrap, plan, fit, publish."""
    data = load_breast_cancer(as_frame=True)
    scaler = PublicRangeScaler(bounds=RANGES)
    X = 2 * np.asarray(scaler.fit_transform(data.data[list(RANGES)])) - 1
    train, test, y_train, y_test = train_test_split(X, data.target.to_numpy(), random_state=0)
    fitted = LogisticRegression(max_iter=1000).fit(train, y_train)
    ledger = InMemoryLedger(epsilon=3.0)

    # The five lines.
    private = StabilityOutputPerturbation(fitted, epsilon=2.0, row_norm=1.5, ledger=ledger)
    forecast = private.plan(n_samples=len(train), n_features=train.shape[1])
    private.set_params(estimator__C=forecast.suggested)
    private.fit(train, y_train)
    published = private.estimator_

    print(forecast)
    print(f"accuracy on {len(test)} held-out rows: {private.score(test, y_test):.2f}")
    print(f"published: {published}, weights {published.coef_.round(2)}")
    print(f"left in the ledger: {ledger.remaining()}")
    print(private.privacy_.explain())

    # Without the data, the colleague's weights can be released as they are, on somebody's word:
    frozen = FrozenEstimator(LogisticRegression(solver="liblinear", C=0.01).fit(train, y_train))
    on_trust = StabilityOutputPerturbation(
        frozen, epsilon=2.0, row_norm=1.5, n_samples=len(train)
    ).fit()
    print(on_trust.privacy_)


if __name__ == "__main__":
    main()
