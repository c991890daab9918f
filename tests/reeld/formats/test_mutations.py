"""Requests that nobody has seen yet are loaded or refused, and render to what every provider accepts."""

import json
from typing import Any

import pytest

from reel.base.errors import InvalidMessage
from reeld.core.events import Entry
from reeld.formats.body import RenderRequest
from reeld.formats.ingest import read_request
from reeld.formats.render import render
from reeld.formats.table import FORMATS
from tests.formats.checker import check
from tests.formats.test_checker import CASES
from tests.formats.test_corpus import RECORDINGS, read
from tests.reeld.formats.histories import entries_of, prompt_in
from tests.reeld.formats.mutations import mutant
from tests.reeld.formats.test_recordings import MODELS, NAMES, is_whole
from tests.thoroughness import FUZZ, sampled

pytestmark = [pytest.mark.slow, sampled]

Json = dict[str, Any]
# Large ones take long to change, and are larger only.
LARGE = 20_000
# So many mutants of each body. `make fuzz` makes more.
MUTANTS = FUZZ // 1000 or 1
TARGETS = [(name, MODELS.get(name)) for name in FORMATS]


def bodies(provider: str) -> list[tuple[str, Json]]:
    """Return the bodies to change: the checker's own cases, and recorded ones if they are there."""
    kinds = ("ACCEPTED", "CARELESS", "REFUSED")
    found = [
        (f"{kind}-{index}", case.body) for kind in kinds for index, case in enumerate(getattr(CASES[provider], kind))
    ]
    real = [path for path in RECORDINGS if path.name.startswith(f"{provider}-") and path.stat().st_size < LARGE]
    return [*found, *((path.stem, read(path)["body"]) for path in real if is_whole(path))]


def entries_in(provider: str, text: str) -> list[Entry] | None:
    """Return the entries of a body; ``None`` if it is refused, which must name the place."""
    try:
        return entries_of(read_request(NAMES[provider], text).messages)
    except InvalidMessage as error:
        return None if error.data["field"] else []


@pytest.mark.parametrize("provider", list(CASES))
def test_a_changed_request_is_loaded_or_refused_with_its_place(provider: str) -> None:
    """What loads can be sent to every provider, but for unknown keys in what a server made itself."""
    loaded = 0
    for name, body in bodies(provider):
        for number in range(MUTANTS):
            text = json.dumps(mutant(provider, body, f"{name} {number}"))
            entries = entries_in(provider, text)
            if entries is None:
                continue
            loaded += 1
            for format, model in TARGETS:  # noqa: A001 - the protocol's word
                found, _ = render(RenderRequest(format, model), entries, prompt_in(entries))
                problems = check(format.replace("-", "_"), json.loads(found.body), model) if found.ready else []

                assert [] == [problem for problem in problems if problem.why != "unknown key"], text

    assert loaded > len(bodies(provider)) // 4
