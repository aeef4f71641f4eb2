"""Experiments of the papers that skdp follows; run as ``python -m benchmarks.papers.NAME``."""
