"""Hypothesis has no deadline, so that a slow machine fails no property."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
