"""The tests of Strands Agents that use a session manager pass with ours in the place of that of files."""

import re
from pathlib import Path

import pytest

from tests.adapters.vendor_suites import run_suite, sources_of
from tests.daemon import Daemon

for needed in ("strands", "pytest_asyncio", "moto"):
    pytest.importorskip(needed, reason="what the suite of Strands Agents needs is not installed")

FILES = (
    *(f"agent/test_{name}" for name in ("agent", "agent_as_tool", "agent_delegation")),
    "middleware/test_agent_stream_middleware",
    "models/routing/test_router",
    *("multiagent/test_graph", "multiagent/test_swarm"),
    *("session/test_file_session_manager", "session/test_repository_session_manager"),
    "test_tracking_id_history_invariant",
)
# It is about links in a directory.
WITHOUT = ("session/test_file_session_manager_symlink_protection",)
# They look into files, ask for their paths, or copy them.
LOOK_INSIDE = {
    # It needs a processor of traces that the framework does not require.
    "agent/test_agent": ("test_baggage_attributes_stamped_on_agent_span",),
    "multiagent/test_swarm": (
        "test_swarm_crash_restart_handoff_via_file_session_on_disk",
        "test_swarm_crash_restart_uncommitted_interrupt_resume_reruns_source_on_disk",
    ),
    "session/test_file_session_manager": (
        *("test_create_session", "test_delete_session", "test_create_agent", "test_create_message"),
        *("test_message_durable_id_persists", "test_corrupted_json_file", "test_create_multi_agent"),
        *("test__get_session_path_invalid_session_id", "test__get_agent_path_invalid_agent_id"),
        *("test__get_message_path_invalid_message_id", "test_create_session_multi_agent_directory_structure"),
    ),
}


def test_every_file_is_run() -> None:
    """All files of the suite with tests of a session manager or of a repository are here."""
    tests = sources_of("strands-agents") / "tests" / "strands"
    used = re.compile(r"\b(FileSessionManager|MockedSessionRepository)\b")
    found = [path for path in tests.glob("**/test_*.py") if used.search(path.read_text("utf-8"))]

    assert {*FILES, *WITHOUT} == {str(path.relative_to(tests).with_suffix("")) for path in found}


@pytest.mark.parametrize("file", FILES)
def test_suite(file: str, daemon: Daemon) -> None:
    """The tests pass, but for those that look into files."""
    path = f"tests/strands/{file}.py"
    left_out = [f"{path}::{test}" for test in LOOK_INSIDE.get(file, ())]

    suite = sources_of("strands-agents")

    run_suite(suite, "strands_suite_sessions", daemon.socket, [path], left_out, path=Path(__file__).parent)
