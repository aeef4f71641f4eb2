"""How accurate the private models are."""
