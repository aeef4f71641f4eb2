"""Time and memory; run as ``python -m benchmarks.speed.NAME``."""
