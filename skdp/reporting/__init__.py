"""Results as text and figures."""

from skdp.reporting.figures import draw_privacy_cost
from skdp.reporting.privacy_cost import PrivacyCost, Scores, Spread
from skdp.reporting.text import privacy_cost_table

__all__ = ["PrivacyCost", "Scores", "Spread", "draw_privacy_cost", "privacy_cost_table"]
