"""The tests of OpenAI's Agents SDK that use its session in SQLite pass with ours in its place."""

import re
from pathlib import Path

import pytest

from tests.adapters.vendor_suites import run_suite, sources_of
from tests.daemon import Daemon

for needed in ("agents", "cryptography", "pytest_asyncio"):
    pytest.importorskip(needed, reason="what the suite of OpenAI's Agents SDK needs is not installed")

FILES = (
    "extensions/memory/test_encrypt_session",
    *(f"memory/test_{name}" for name in ("session", "session_limit", "openai_responses_compaction_session")),
    *(f"memory/test_compaction_{name}" for name in ("suffix", "model_visibility")),
    *(f"test_{name}" for name in ("agent_runner", "agent_runner_streamed", "max_turns", "soft_cancel")),
    *(f"test_{name}" for name in ("tool_batch_failure_history", "native_tool_failure_history")),
    *(f"test_{name}" for name in ("programmatic_tool_calling", "run_impl_resume_paths", "tool_failure_boundaries")),
)
# They import the class, and have no session; or they are about a class that is derived from it.
WITHOUT = ("extensions/memory/test_advanced_sqlite_session", "sandbox/test_memory", "tracing/test_import_side_effects")
# They look into the class: at its connections, locks, tables and private methods.
LOOK_INSIDE = {
    "extensions/memory/test_encrypt_session": (
        # The SDK checks the key before a pop if the session is its own class, and of no other one.
        "encrypted_pop_wrong_key_preserves_recoverable_history",
        "encrypted_pop_rechecks_authentication_after_expired_tail",
        "encrypted_pop_authentication_is_atomic_with_concurrent_mutations",
        "encrypted_pop_wrong_key_preserves_row_identity",
        "encrypted_pop_cancellation_waits_for_authentication_rollback",
    ),
    "memory/test_compaction_suffix": (
        "suffix_transaction_rolls_back_failed_insert[sqlite]",
        "cancelled_suffix_transaction_settles_before_newer_append[sqlite]",
        "failed_encrypted_suffix_transaction_preserves_original_tokens[sqlite-False]",
        "failed_encrypted_suffix_transaction_preserves_original_tokens[sqlite-True]",
    ),
    "memory/test_openai_responses_compaction_session": (
        "settled_pop_failure_invalidates_response_chain",
        "settled_clear_failure_invalidates_response_chain",
        # The SDK keeps no copy of what a session reads for it by itself.
        "cancel_restore_waits_for_mutation_lock_before_newer_writes",
        "exception_restore_drains_when_compaction_is_cancelled",
    ),
    "memory/test_session": (
        *("sqlite_session_close_closes_worker_thread_connections", "sqlite_session_failed_clear_session_rolls_back"),
        *("sqlite_session_reaps_connections_from_exited_worker_threads", "sqlite_session_close_retries_quarantined"),
        *("sqlite_session_closes_retired_connections", "sqlite_session_keeps_connections_of_live_worker_threads"),
        *("sqlite_session_pop_item_skips_corrupt_most_recent", "sqlite_session_pop_item_returns_none_after_dropping"),
        *("sqlite_session_get_items_limit_skips_corrupt", "sqlite_session_get_items_session_settings_limit_skips"),
        *("sqlite_session_file_lock_is_shared", "sqlite_session_failed_add_items_releases_write_lock"),
        *("sqlite_session_failed_pop_item_releases_write_lock", "sqlite_session_rollback_failure_evicts_connection"),
        "sqlite_session_post_commit_cancellation_propagates_after_known_outcome",
        # After `close`, ours opens another connection.
        "sqlite_session_closed_rejects_empty_add_items",
    ),
    "test_run_impl_resume_paths": ("handoff_resume_after_cancelled_compaction_commits",),
}


def test_every_file_is_run() -> None:
    """All files of the suite with tests of the session in SQLite are here."""
    tests = sources_of("openai-agents") / "tests"
    found = [path for path in tests.glob("**/test_*.py") if re.search(r"\bSQLiteSession\b", path.read_text("utf-8"))]

    assert {*FILES, *WITHOUT} >= {str(path.relative_to(tests).with_suffix("")) for path in found}


@pytest.mark.parametrize("file", FILES)
def test_suite(file: str, daemon: Daemon) -> None:
    """The tests pass, but for those that look into the SDK's class."""
    path = f"tests/{file}.py"
    prefix = "TestOpenAIResponsesCompactionSession::" if file.endswith("responses_compaction_session") else ""
    left_out = [f"{path}::{prefix}test_{name}" for name in LOOK_INSIDE.get(file, ())]
    suite = sources_of("openai-agents")

    run_suite(suite, "openai_agents_suite_session", daemon.socket, [path], left_out, path=Path(__file__).parent)
