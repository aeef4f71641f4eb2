"""Settings that must stand before scipy is imported."""

import os

# Without it scikit-learn skips its check of other array libraries' namespaces.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
