"""Recorded items come back as they were, if the folder with them exists."""

from pathlib import Path

import pytest

from reel.base.strict_json import parse
from reel.said.item_forms import canonical
from reeld.formats.table import FORMATS
from tests.formats.test_corpus import RECORDINGS
from tests.reeld.formats.items_sending import again
from tests.thoroughness import THOROUGH, sampled

pytestmark = [pytest.mark.slow, sampled]

# A tenth of the recordings, and all of them for `make fuzz`.
CHOSEN = RECORDINGS if THOROUGH else RECORDINGS[::10]


@pytest.mark.parametrize("path", CHOSEN, ids=lambda path: path.stem)
def test_recorded_items_come_back_as_they_were(path: Path) -> None:
    """What a real client sent item by item is what is read."""
    recording = parse(path.read_text())
    name = recording["provider"].replace("_", "-")
    given = recording["body"].get(FORMATS[name].history_key)
    items = [item for item in given if type(item) is dict] if type(given) is list else []
    assert [canonical(item) for item in again(name, items)] == [canonical(item) for item in items]
