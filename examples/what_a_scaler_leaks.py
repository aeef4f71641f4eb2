"""What a plain scaler leaks: one person's value, read off its parameters.

The attacker knows everybody but one person, as differential privacy assumes, and sees the fitted
pipeline. The model in it may be as private as it likes: mean and extremes give the value away. A
private scaler publishes medians with noise, and the same attacks find nothing.
"""

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from skdp.exceptions import LeakyPipelineError
from skdp.linear_model import PrivateElasticNetClassifier
from skdp.pipeline import make_private_pipeline
from skdp.preprocessing import PrivateStandardScaler
from skdp.privacy import InMemoryLedger

N = 500
TARGETS = 100


def incomes_and_illness() -> tuple[np.ndarray, np.ndarray]:
    """Made-up yearly incomes, one of them unusual, and who is ill."""
    rng = np.random.default_rng(0)
    incomes = rng.lognormal(10.8, 0.5, size=(N, 1)).round(2)
    incomes[0] = 412_345
    return incomes, np.arange(N) % 2


def read_off_mean(mean: float, others: np.ndarray) -> float:
    """A mean of N values of which N - 1 are known."""
    return float(mean * N - others.sum())


def share_found(incomes: np.ndarray, scaler) -> float:
    """How often the attack on the mean is right to a hundred, each person the target once."""
    found = 0
    for target in range(TARGETS):
        mean = scaler().fit(incomes).mean_[0]
        guess = read_off_mean(mean, np.delete(incomes, target))
        found += abs(guess - incomes[target, 0]) < 100
    return found / TARGETS


def main() -> None:
    """Attack two plain scalers and a private one."""
    incomes, ill = incomes_and_illness()
    model = PrivateElasticNetClassifier(classes=[0, 1])

    plain = make_pipeline(StandardScaler(), model).fit(incomes, ill)
    read = read_off_mean(plain[0].mean_[0], incomes[1:])
    print(f"read off StandardScaler: {read:,.0f}; the truth is {incomes[0, 0]:,.0f}")
    plain = make_pipeline(MinMaxScaler(), model).fit(incomes, ill)
    print(f"read off MinMaxScaler, knowing nobody: {plain[0].data_max_[0]:,.0f}")

    def private():
        """Declared: an income has at most six digits. Each of these fits would spend."""
        return PrivateStandardScaler((0, 1_000_000), neighbours="replace-one")

    print(f"StandardScaler gives away {share_found(incomes, StandardScaler):.0%} of the people")
    print(f"PrivateStandardScaler gives away {share_found(incomes, private):.0%}")

    try:
        make_private_pipeline(StandardScaler(), model)
    except LeakyPipelineError as refused:
        print(f"make_private_pipeline says: {refused}")
    ledger = InMemoryLedger(epsilon=2.0, delta=1e-5)
    whole = make_private_pipeline(private(), model, epsilon=1.0, delta=1e-6, ledger=ledger)
    whole.fit(incomes, ill)
    print(f"left in the ledger: {ledger.remaining()}")
    print(whole.privacy_.explain())


if __name__ == "__main__":
    main()
