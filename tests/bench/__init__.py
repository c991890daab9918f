"""Benchmarks: `make bench`. They print figures and never fail because something is slow."""
