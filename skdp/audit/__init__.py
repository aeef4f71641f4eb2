"""Attacks that bound the epsilon of a private estimator from below.

For any estimator with `fit`, of this library or another one. What they show is true with the
confidence stated; that they show nothing proves nothing, unless a control that must be found out
is. Audits fit many times and charge no ledger: run them on made-up data.
"""

from skdp.audit.attributes import AttributeAudit, audit_attributes
from skdp.audit.canaries import NeighbouringPair, worst_case_neighbours
from skdp.audit.claims import Claim
from skdp.audit.counts import EventCounts
from skdp.audit.events import Event
from skdp.audit.floating_point import FloatingPointAudit, audit_floating_point
from skdp.audit.generalization import GeneralizationGap, generalization_gap
from skdp.audit.guesses import epsilon_of_guesses, guessing_p_value
from skdp.audit.lower_bound import EpsilonAudit, audit_epsilon
from skdp.audit.membership import MembershipAudit, membership_inference
from skdp.audit.one_run import OneRunAudit, audit_one_run
from skdp.audit.randomness import RandomnessAudit, audit_randomness
from skdp.audit.releases import audit_release
from skdp.audit.replay import ReplayAudit, record_and_replay
from skdp.audit.secret_sharer import (
    ContextPerplexity,
    SecretSharerAudit,
    plant_canaries,
    random_phrases,
    secret_sharer,
)
from skdp.audit.worst_cases import WorstCaseAudit, audit_worst_cases

__all__ = [
    "AttributeAudit",
    "Claim",
    "ContextPerplexity",
    "EpsilonAudit",
    "Event",
    "EventCounts",
    "FloatingPointAudit",
    "GeneralizationGap",
    "MembershipAudit",
    "NeighbouringPair",
    "OneRunAudit",
    "RandomnessAudit",
    "ReplayAudit",
    "SecretSharerAudit",
    "WorstCaseAudit",
    "audit_attributes",
    "audit_epsilon",
    "audit_floating_point",
    "audit_one_run",
    "audit_randomness",
    "audit_release",
    "audit_worst_cases",
    "epsilon_of_guesses",
    "generalization_gap",
    "guessing_p_value",
    "membership_inference",
    "plant_canaries",
    "random_phrases",
    "record_and_replay",
    "secret_sharer",
    "worst_case_neighbours",
]
