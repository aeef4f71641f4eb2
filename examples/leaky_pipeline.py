"""What a plain pipeline leaks: one person's value, read off the parameters of a scaler.

The attacker knows everybody but one person, as differential privacy assumes, and sees the fitted
pipeline. The model in it may be as private as it likes: mean and extremes give the value away.
"""

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from skdp.exceptions import LeakyPipelineError
from skdp.linear_model import PrivateElasticNetClassifier
from skdp.pipeline import make_private_pipeline
from skdp.preprocessing import PublicRangeScaler
from skdp.privacy import InMemoryLedger


def main() -> None:
    """Attack two plain scalers, then fit a pipeline that has nothing to attack."""
    rng = np.random.default_rng(0)
    incomes = rng.uniform(20_000, 90_000, size=(500, 1))
    incomes[0] = 412_345  # the person that the attacker is after
    ill = np.arange(500) % 2
    known = incomes[1:]

    model = PrivateElasticNetClassifier(classes=[0, 1])
    plain = make_pipeline(StandardScaler(), model).fit(incomes, ill)
    read = plain[0].mean_ * 500 - known.sum(axis=0)
    print(f"read off StandardScaler: {read[0]:,.0f}; the truth is {incomes[0, 0]:,.0f}")
    plain = make_pipeline(MinMaxScaler(), model).fit(incomes, ill)
    print(f"read off MinMaxScaler, knowing nobody: {plain[0].data_max_[0]:,.0f}")

    ledger = InMemoryLedger(epsilon=2.0, delta=1e-5)
    try:
        make_private_pipeline(StandardScaler(), model)
    except LeakyPipelineError as refused:
        print(f"make_private_pipeline says: {refused}")
    private = make_private_pipeline(
        PublicRangeScaler((0, 500_000)), model, epsilon=1.0, delta=1e-6, ledger=ledger
    ).fit(incomes, ill)
    print(f"left in the ledger: {ledger.remaining}")
    print(private.privacy_.explain())


if __name__ == "__main__":
    main()
