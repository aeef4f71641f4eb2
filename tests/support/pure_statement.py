"""A statement of a pure release, as an estimator would hand it to a ledger."""

from skdp.privacy import Neighbours, PrivacyBudget, PrivacyStatement
from skdp.privacy.accounting import EventCurve
from skdp.privacy.events import PureReleaseDpEvent


def pure_statement(epsilon):
    event = PureReleaseDpEvent(epsilon, 0.0, 1.0, "l2", "replace-one", 1 / epsilon)
    budget, relation = PrivacyBudget(epsilon), Neighbours.REPLACE_ONE
    return PrivacyStatement(EventCurve(event), budget, relation, "theorem", (), "noise")
