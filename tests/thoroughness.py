"""How much tests try: a sample in ``make check``, the same one each time, and far more in ``make fuzz``."""

import os

import pytest

# The inputs of each kind that `make fuzz` asks for; 0 without it.
FUZZ = int(os.environ.get("FUZZ", "0"))
THOROUGH = FUZZ > 0
# Marks a test that takes a sample unless it is to be thorough; Hypothesis marks its own.
sampled = pytest.mark.sampled
