"""What property tests try."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


def tried() -> list[str]:
    """Return the examples of a property."""
    texts: list[str] = []

    @settings(max_examples=300)
    @given(st.text(max_size=9))
    def keep(text: str) -> None:
        texts.append(text)

    keep()
    return texts


def test_the_same_examples_whatever_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A property is tried with the same examples, whichever modules of ours other tests have imported before."""
    before = tried()
    file = tmp_path / "spoken.py"
    file.write_text(f"WORDS = {[f'word {number}' for number in range(500)]}")
    spec = spec_from_file_location("spoken", file)
    assert spec is not None
    monkeypatch.setitem(sys.modules, "spoken", module_from_spec(spec))

    assert before == tried()


def test_no_property_fails_because_it_is_slow() -> None:
    """No property has a time limit; what is measured of the draws is their number."""
    profile = settings.get_current_profile_name()

    assert settings.get_profile(profile).deadline is None
    assert (HealthCheck.too_slow,) == tuple(settings.get_profile(profile).suppress_health_check)
