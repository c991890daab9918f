"""How much tests try: a sample in ``make check``, the same one each time, and far more in ``make fuzz``."""

import os
import threading
from zlib import crc32

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, seed, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers

# The inputs of each kind that `make fuzz` asks for; 0 without it.
FUZZ = int(os.environ.get("FUZZ", "0"))
THOROUGH = FUZZ > 0
# Marks a test that takes a sample unless it is to be thorough; Hypothesis marks its own.
sampled = pytest.mark.sampled
# `too_slow` measures the machine: on a busy one, a single draw took 28 s of the 30 that it allows. All other checks
# count, and say the same each time.
_SPEED = [HealthCheck.too_slow]
# For a property whose examples share the fixtures of a test, which is what they are to do.
SHARED = [*_SPEED, HealthCheck.function_scoped_fixture]


def use_profile() -> None:
    """Make Hypothesis try the same examples each time, or other ones in `make fuzz`, whatever the machine's speed.

    What fails for one change and passes for the next with the same code says nothing about either.
    """
    settings.register_profile("same", derandomize=True, max_examples=40, deadline=None, suppress_health_check=_SPEED)
    settings.register_profile(
        "other", print_blob=True, max_examples=FUZZ // 50 or 40, deadline=None, suppress_health_check=_SPEED
    )
    settings.load_profile("other" if THOROUGH else "same")
    if not THOROUGH:
        _forget_the_code()


def draw_alike(item: pytest.Item) -> None:
    """Make a test with parameters draw the same examples, whichever of them its worker runs first.

    Without randomness, Hypothesis derives the examples from the test and from the name of its parameters; but it looks
    at this name only once, and with several workers another one comes first each time.
    """
    if THOROUGH or not isinstance(item, pytest.Function):
        return
    if hasattr(item, "callspec") and is_hypothesis_test(item.obj):
        seed(crc32(item.nodeid.encode()))(item.obj)


def _forget_the_code() -> None:
    """Keep Hypothesis from trying the literals of all modules of ours that are imported.

    Which these are depends on the tests that a worker has run before, and with them the examples. In a fresh clone,
    the first draw of each worker also parsed 320 modules and wrote a file for each. There is no setting for it.
    """
    setattr(providers, "_get_local_constants", lambda: providers._local_constants)  # noqa: B010 - mypy forbids to assign


def read_unicode() -> None:
    """Read the table of all characters now, which otherwise the first text that is drawn has to wait for.

    In a fresh clone, Hypothesis makes it in loops over a million characters. They take 2.5 s of a core in each worker
    while the coverage is measured, and much less without.
    """
    measuring = threading.gettrace()
    threading.settrace(None)
    try:
        reading = threading.Thread(target=st.text().validate)
        reading.start()
        reading.join()
    finally:
        threading.settrace(measuring)
