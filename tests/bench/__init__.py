"""Benchmarks: `make bench`. Figures, never tests: nothing here fails for being slow."""
