"""Real coding agents under ``reel import --watch``: what each sent to its model is what reel says of the conversation.

``make adapters`` lets each work for one session; ``make watched WATCHED_SECONDS=3600`` for an hour.
"""

import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.adapters.at_work.agents import AGENTS
from tests.adapters.at_work.imported import daemon_in, seen, until_alike, watching
from tests.adapters.at_work.place import Place
from tests.adapters.at_work.report import Report, States
from tests.adapters.at_work.work import SECONDS, Works
from tests.adapters.programs import program
from tests.adapters.scripted_provider import scripted_provider

_SHOWN = 40
# Where everything is kept that a run has, if something is not as it should be; and what is not worth it.
_KEPT = Path(__file__).parents[2] / "build/watched"
_FETCHED = ("node_modules", ".cache", ".npm", ".git")


def of_tool(program_name: str) -> str:
    """Return the tool that calls itself so."""
    signs = {"claude-cli": "claude", "codex": "codex", "geminicli": "gemini", "opencode": "opencode"}
    signs["ai-sdk"] = "opencode"
    return next((tool for sign, tool in signs.items() if sign in program_name.lower()), "pi")


@pytest.mark.timeout(0)
def test_agents_that_are_watched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each request that a model got is what reel says of the conversation, and a fresh import says the same."""
    tools = os.environ.get("WATCHED_TOOLS", " ".join(AGENTS)).split()
    there = [tool for tool in tools if program(tool) and (tool != "gemini" or shutil.which("tmux"))]
    if not there:
        pytest.skip("no agent is installed")
    with kept_if_it_fails(tmp_path):
        works, report, told, deleted = watched(tmp_path, there)
        (tmp_path / "report").write_text("\n".join(told))
        with capsys.disabled():
            print(f"\nsessions: {dict(works.sessions)}; not installed: {sorted({*tools} - {*there})}")  # noqa: T201
            print("\n".join(f"{tool}: {what}: {count}" for (tool, what), count in sorted(report.counts.items())))  # noqa: T201
            if deleted:
                print(f"kept, and deleted by the agent: {deleted}")  # noqa: T201
        assert [] == told[:_SHOWN]


def watched(home: Path, tools: Sequence[str]) -> tuple[Works, Report, list[str], list[str]]:
    """Let agents work, and compare.

    Returns:
        The works, the report, all that is not as it should be, and the conversations that the agents have deleted.
    """
    problems: list[str] = []
    with ExitStack() as stack:
        provider = stack.enter_context(scripted_provider())
        daemon = stack.enter_context(daemon_in(home / "watched"))
        works = Works(Place(home, provider), seen(daemon), problems)
        try:
            with watching(home, daemon):
                works.do(tools, time.monotonic() + SECONDS)
                other, differences, deleted = stack.enter_context(until_alike(home, daemon))
        finally:
            (home / "asked.jsonl").write_text("".join(f"{json.dumps(vars(asked))}\n" for asked in provider.asked))
        states, fresh = (States(stack.enter_context(each.client())) for each in (daemon, other))
        report = Report(home, provider.asked, {*deleted, *works.deleted})
        for asked in provider.asked:
            report.compare(AGENTS[of_tool(asked.program)].tool, asked, states, fresh)
    return works, report, [*problems, *report.differences, *differences], deleted


@contextmanager
def kept_if_it_fails(home: Path) -> Iterator[None]:
    """Keep the files of the agents, the daemon's database, the requests and the report of a block that fails."""
    try:
        yield
    except BaseException as error:
        kept = Path(os.environ.get("WATCHED_KEPT", _KEPT)) / time.strftime("%Y-%m-%d-%H%M%S")
        shutil.copytree(home, kept, symlinks=True, ignore=_left_out)
        error.add_note(f"everything is kept in {kept}")
        raise


def _left_out(directory: str, names: list[str]) -> set[str]:
    """Return what the agents have fetched, and what is no file, such as a socket."""
    paths = [Path(directory, name) for name in names]
    return {path.name for path in paths if path.name in _FETCHED or not (path.is_file() or path.is_dir())}
