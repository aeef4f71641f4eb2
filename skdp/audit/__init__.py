"""Attacks that bound the epsilon of a private estimator from below."""
