"""Record and replay, which `skdp.audit.replay` does."""

from skdp.audit.replay import Trace, fit_trace, frozen_releases, same, violations

__all__ = ["Trace", "fit_trace", "frozen_releases", "same", "violations"]
