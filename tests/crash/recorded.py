"""A history in a file, so that a rare finding can be looked at again: ``python -m tests.crash.recorded FILE``."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile

from tests.crash.checker import check
from tests.crash.history import Call, Event, FinalAgent
from tests.model import Marked, Said


def write(calls: Sequence[Call], events: Sequence[Event], final: Sequence[FinalAgent]) -> Path:
    """Write a history to a new file in the directory for temporary files, and return its path."""
    with NamedTemporaryFile("w", encoding="utf-8", prefix="reel-history-", suffix=".json", delete=False) as file:
        json.dump({"calls": calls, "events": events, "final": final}, file)
    return Path(file.name)


def read(path: Path) -> tuple[list[Call], list[Event], list[FinalAgent]]:
    """Read a history."""
    written = json.loads(path.read_text(encoding="utf-8"))
    final = [FinalAgent._make(fields) for fields in written["final"]]
    return (
        [Call._make(fields) for fields in written["calls"]],
        [Event._make(fields) for fields in written["events"]],
        [
            agent._replace(
                records=tuple(Said._make(fields) for fields in agent.records),
                marks=tuple(Marked._make(fields) for fields in agent.marks),
            )
            for agent in final
        ],
    )


if __name__ == "__main__":
    problems = check(*read(Path(sys.argv[1])))
    sys.stdout.write("".join(f"{problem}\n" for problem in problems or ["nothing is wrong with it"]))
