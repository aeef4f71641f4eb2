"""What is promised and what it costs.

Importing this package does not import dp_accounting: the modules that need it (`events`,
`step_events`, `accounting`, `calibration`) are imported where they are used.
"""

from skdp.privacy.budget import Neighbours, PrivacyBudget, Sensitivity
from skdp.privacy.ledger import InMemoryLedger, Ledger, LedgerEntry
from skdp.privacy.statement import PrivacyStatement, noise_source

__all__ = [
    "InMemoryLedger",
    "Ledger",
    "LedgerEntry",
    "Neighbours",
    "PrivacyBudget",
    "PrivacyStatement",
    "Sensitivity",
    "noise_source",
]
