"""What is promised and what it costs.

Importing this package does not import dp_accounting: the modules that need it (`events`,
`step_events`, `filter_events`, `accounting`, `calibration`, `filters`) are imported where they are
used.
"""

from skdp.privacy.budget import Neighbours, PrivacyBudget, Sensitivity
from skdp.privacy.composed import composed_statement
from skdp.privacy.diffprivlib_accountant import diffprivlib_accountant
from skdp.privacy.ledger import InMemoryLedger, Ledger, LedgerEntry
from skdp.privacy.privacy_ledger import PrivacyLedger
from skdp.privacy.statement import PrivacyStatement, noise_source

__all__ = [
    "InMemoryLedger",
    "Ledger",
    "LedgerEntry",
    "Neighbours",
    "PrivacyBudget",
    "PrivacyLedger",
    "PrivacyStatement",
    "Sensitivity",
    "composed_statement",
    "diffprivlib_accountant",
    "noise_source",
]
