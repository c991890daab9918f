"""The Agent Framework's own tests pass with our history provider in the place of those in memory and in files.

They are in no package, so they come from its repository. What fails with the framework's own providers, too, such as a
test of another version, does not count.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from fnmatch import fnmatch
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.daemon import Daemon

pytest.importorskip("agent_framework", reason="agent-framework-core is not installed")
# What their tests need.
pytest.importorskip("pytest_asyncio", reason="pytest-asyncio is not installed")
pytest.importorskip("opentelemetry.sdk", reason="OpenTelemetry's SDK is not installed")

_HERE = Path(__file__).parent
_KEPT = _HERE.parents[1] / "build" / "vendors"
_REPOSITORY = "https://github.com/microsoft/agent-framework"
_CORE = Path("python", "packages", "core")
# The files whose tests keep a history, or have an agent do so.
FILES = (
    "core/test_agent_hooks.py",
    "core/test_agents.py",
    "core/test_compaction.py",
    "core/test_function_invocation_logic.py",
    "core/test_harness_agent.py",
    "core/test_harness_loop.py",
    "core/test_harness_memory.py",
    "core/test_harness_tool_approval.py",
    "core/test_middleware_with_agent.py",
    "core/test_sessions.py",
    "workflow/test_workflow_agent.py",
)
# They read or write the messages in the state of the session, where the provider in memory has them.
STATE = (
    "core/test_agents.py::test_chat_client_agent_prepare_session_and_messages",
    "core/test_agents.py::test_chat_client_agent_streaming_session_history_saved_without_get_final_response",
    "core/test_agents.py::test_chat_client_agent_update_session_messages",
    "core/test_compaction.py::test_in_memory_history_provider_*",
    "core/test_harness_agent.py::test_before_strategy_compaction_fires_on_loaded_history_*",
    "core/test_harness_agent.py::test_before_strategy_compaction_multi_turn_keeps_persisted_history_coherent",
    "core/test_harness_loop.py::test_fresh_context_session_matrix[[]local-*",
    "core/test_harness_loop.py::test_fresh_context_with_session_resets_history",
    "core/test_middleware_with_agent.py::*::test_agent_context_session_behavior_across_multiple_runs",
    "core/test_sessions.py::TestInMemoryHistoryProvider::test_state_is_serializable",
)
# Their messages have mocks, which only a provider in memory can keep: each has a method to_dict that returns another.
MOCKS = ("core/test_agents.py::test_shared_local_storage_cross_provider_responses_history_does_not_leak_fc_id",)
# They read or write files, or say how these are written.
FILE = (
    "core/test_harness_memory.py::test_memory_file_store_*transcripts*",
    "core/test_harness_memory.py::test_memory_context_provider_*",
    "core/test_sessions.py::TestFileSessionStore::test_reserved_windows_filename_is_encoded*",
    *(
        f"core/test_sessions.py::TestFileHistoryProvider::test_{name}"
        for name in (
            "allows_custom_serializers_returning_bytes",
            "concurrent_writes_for_same_session_are_locked",
            "creates_storage_directory",
            "custom_json_codecs_are_deprecated",
            "invalid_jsonl_line_raises",
            "is_marked_experimental",
            "msgpack_rejects_custom_json_codecs",
            "non_mapping_jsonl_line_raises",
            "none_session_id_uses_default_jsonl_file",
            "reads_existing_stdlib_non_finite_json",
            "serializer_must_return_single_line_json",
            "stores_and_loads_length_prefixed_msgpack",
            "stores_and_loads_messages",
            "truncated_msgpack_record_raises",
            "uses_encoded_filename_for_unsafe_session_id",
            "uses_msgspec_json_by_default",
        )
    ),
)


@pytest.fixture(scope="module")
def core() -> Path:
    """The framework's core package in a checkout: in that of ``REEL_AGENT_FRAMEWORK``, else in one in ``build``."""
    if given := os.environ.get("REEL_AGENT_FRAMEWORK"):
        return Path(given, _CORE)
    tag = f"python-{version('agent-framework-core')}"
    kept = _KEPT / f"agent-framework-{tag}"
    if not kept.exists():
        _KEPT.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_KEPT) as place:
            _fetch(tag, place)
            with suppress(OSError):  # another worker was faster
                Path(place, "found").rename(kept)
    return kept / _CORE


def _fetch(tag: str, place: str) -> None:
    options = ["--quiet", "--depth=1", "--filter=blob:none", "--sparse", f"--branch={tag}"]
    for command in (
        ["git", "clone", *options, _REPOSITORY, "found"],
        ["git", "-C", "found", "sparse-checkout", "set", str(_CORE / "tests")],
    ):
        if subprocess.run(command, cwd=place, check=False, capture_output=True).returncode != 0:
            pytest.skip("the repository of agent-framework cannot be fetched")


@pytest.mark.parametrize("file", FILES)
def test_suite(file: str, daemon: Daemon, core: Path) -> None:
    """What passes with the framework's own providers passes with ours, but for what looks inside those."""
    if not (core / "tests" / file).exists():
        pytest.skip("this version has no such tests")
    left_out = [f"--deselect=tests/{test}" for test in MOCKS]
    ran = run(core, [f"tests/{file}"], daemon.socket, "-p", "agent_framework_providers", *left_out)
    wrong = [test for test in ran.failed if not any(fnmatch(test, f"tests/{known}") for known in (*STATE, *FILE))]

    assert set(wrong) <= set(run(core, wrong, daemon.socket).failed if wrong else [])
    assert ran.passed > len(ran.failed)


class Ran(NamedTuple):
    """How many tests passed, and which failed."""

    passed: int
    failed: list[str]


def run(core: Path, tests: Sequence[str], socket: str, *options: str) -> Ran:
    """Run tests of the framework's."""
    own = ["-c", os.devnull, "--rootdir=.", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--tb=no", "-rfE", *own, *options, *tests],
        cwd=core,
        env={**os.environ, "REEL_SOCKET": socket, "PYTHONPATH": str(_HERE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode in (0, 1), ran.stdout[-5_000:] + ran.stderr[-5_000:]
    *lines, summary = ran.stdout.splitlines()
    passed = re.search(r"(\d+) passed", summary)
    failed = [line.split(" ", 1)[1].split(" - ")[0] for line in lines if line.startswith(("FAILED ", "ERROR "))]
    return Ran(int(passed[1]) if passed else 0, failed)
