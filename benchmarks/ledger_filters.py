"""How many releases of one kind a ledger of cap (3, 1e-6) admits, filter by filter.

Each release is entered as an estimator does it, with its event and with what it promises: Gaussian
noise and the plan at a delta of 1e-8, pure releases at 0. The last row is what a bundle of all of
them, fixed before the first is made, costs a basic ledger that gives all of its delta to it.

Usage: python -m benchmarks.ledger_filters > benchmarks/results/ledger_filters.txt
"""

from collections.abc import Callable
from typing import NamedTuple

from dp_accounting import DpEvent, dp_event

from skdp.exceptions import UnsupportedEventError
from skdp.privacy import Neighbours, PrivacyBudget
from skdp.privacy.accounting import epsilon_of, rho_of
from skdp.privacy.events import GaussianReleaseDpEvent, PureReleaseDpEvent
from skdp.privacy.ledger_filters import BasicFilter, GaussianSumFilter, LedgerFilter
from skdp.privacy.ledger_renyi_filters import RenyiOrderFilter, ZcdpFilter

CAP, RELATION, SLACK = PrivacyBudget(3.0, 1e-6), Neighbours.ZERO_OUT, 1e-7
MOST = 10_000


class Asked(NamedTuple):
    """What is asked for, again and again."""

    title: str
    event: DpEvent
    budget: PrivacyBudget


def gaussian(mu: float) -> DpEvent:
    return GaussianReleaseDpEvent(mu, "l2", RELATION, 1.0)


def pure(epsilon: float) -> DpEvent:
    return PureReleaseDpEvent(epsilon, 0.0, 1.0, "l2", RELATION, 1.0)


def training(noise: float, rate: float, steps: int) -> DpEvent:
    """DP-SGD as it is planned: so many Poisson samples, with noise on each."""
    return dp_event.SelfComposedDpEvent(
        dp_event.PoissonSampledDpEvent(rate, gaussian(1 / noise)), steps
    )


def kinds() -> list[Asked]:
    noise, plan = gaussian(0.2), training(2.0, 0.01, 200)
    found = [("Gaussian, mu 0.2", noise, 1e-8), ("pure, epsilon 0.1", pure(0.1), 0.0)]
    found += [("pure, epsilon 0.5", pure(0.5), 0.0), ("DP-SGD plan", plan, 1e-8)]
    return [
        Asked(title, event, PrivacyBudget(epsilon_of(event, delta), delta))
        for title, event, delta in found
    ]


def filters() -> dict[str, LedgerFilter]:
    shared = (CAP, RELATION, SLACK)
    best = RenyiOrderFilter.best_order(CAP, SLACK)
    return {
        f'"renyi" (default; order {best})': RenyiOrderFilter(*shared, best),
        '"renyi", order=16': RenyiOrderFilter(*shared, 16),
        '"renyi", order=32': RenyiOrderFilter(*shared, 32),
        '"zcdp"': ZcdpFilter(*shared, ZcdpFilter.greatest_rho(CAP, SLACK)),
        '"gaussian"': GaussianSumFilter(*shared),
        '"basic"': BasicFilter(CAP, RELATION, 0.0),
    }


def admitted(counting: LedgerFilter, asked: Asked) -> str:
    try:
        price, limit = counting.of_event(asked.event, asked.budget), counting.limit
    except UnsupportedEventError:
        return "refused"
    counts = [limit.cost // price.cost]
    if price.delta:
        counts.append(limit.delta // price.delta)
    return str(min(counts))


def fixed(asked: Asked) -> str:
    def fits(count: int) -> bool:
        whole = dp_event.SelfComposedDpEvent(asked.event, count)
        return epsilon_of(whole, CAP.delta) <= CAP.epsilon

    return str(_greatest(fits))


def _greatest(fits: Callable[[int], bool]) -> int:
    low, high = 0, 1
    while fits(high) and high < MOST:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def main() -> None:
    """Print the table, and what the plan promises."""
    asked = kinds()
    print(f"| `filter` | {' | '.join(one.title for one in asked)} |")
    print(f"|---|{'---:|' * len(asked)}")
    for name, counting in filters().items():
        print(f"| {name} | {' | '.join(admitted(counting, one) for one in asked)} |")
    print(f"| all fixed beforehand | {' | '.join(map(fixed, asked))} |")
    plan, zcdp = asked[-1], filters()['"zcdp"']
    print(
        f"\nThe plan promises epsilon = {plan.budget.epsilon:.3f} at a delta of 1e-8; its rho is "
        f"{rho_of(plan.event):.3g}, that of the zCDP ledger {float(zcdp.limit.cost):.3g}."
    )


if __name__ == "__main__":
    main()
