"""Bounds from counts, which `skdp.audit.counts` finds."""

from skdp.audit.counts import EventCounts as Counts
from skdp.audit.counts import at_least, at_most

__all__ = ["Counts", "at_least", "at_most"]
