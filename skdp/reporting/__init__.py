"""Results as text and figures."""

from skdp.reporting.accountants import accountants_table, draw_accountants
from skdp.reporting.expected_loss import draw_expected_loss
from skdp.reporting.figures import draw_privacy_cost
from skdp.reporting.model_card import write_model_card
from skdp.reporting.privacy_cost import PrivacyCost, Scores, Spread
from skdp.reporting.report import write_report
from skdp.reporting.schedules import draw_schedules
from skdp.reporting.text import privacy_cost_table

__all__ = [
    "PrivacyCost",
    "Scores",
    "Spread",
    "accountants_table",
    "draw_accountants",
    "draw_expected_loss",
    "draw_privacy_cost",
    "draw_schedules",
    "privacy_cost_table",
    "write_model_card",
    "write_report",
]
