"""LangGraph's own tests of graphs with a checkpointer pass with ours in the place of its SQLite savers."""

from importlib.metadata import version
from pathlib import Path

import pytest

from tests.adapters.vendor_suites import run_suite, sources_of
from tests.daemon import Daemon

for needed in ("langgraph.checkpoint.sqlite", "Crypto", "pytest_mock", "syrupy"):
    pytest.importorskip(needed, reason="what LangGraph's suite needs is not installed")

FILES = (
    *("pregel", "pregel_async", "large_cases", "large_cases_async", "time_travel", "time_travel_async"),
    *("subgraph_persistence", "subgraph_persistence_async", "checkpoint_migration", "interrupt_state", "interruption"),
    *("delta_channel_exit_mode", "delta_channel_fork", "delta_channel_parallel_order", "delta_channel_subgraph"),
    *("delta_channel_to_plain", "delta_channel_update_state", "pydantic", "strict_resume"),
)


# Of LangGraph 1.1, with the newest LangChain: they fail with its own savers as well, the nested one now and then.
OF_1_1 = {
    "large_cases": ("weather_subgraph",),
    "large_cases_async": ("weather_subgraph",),
    "pregel": ("imp_nested",),
    "pregel_async": ("imp_exception", "imp_nested"),
}


def test_every_file_is_run() -> None:
    """All files of the suite with tests of a checkpointer are here."""
    found = sources_of("langgraph").glob("tests/test_*.py")

    assert {*FILES} >= {path.stem.removeprefix("test_") for path in found if "c_checkpointer:" in path.read_text()}


@pytest.mark.parametrize("file", FILES)
def test_suite(file: str, daemon: Daemon) -> None:
    """The tests pass, with a serializer that encrypts as well."""
    path = f"tests/test_{file}.py"
    left_out = [f"{path}::test_{name}" for name in (OF_1_1 if version("langgraph") < "1.2" else {}).get(file, ())]

    run_suite(
        sources_of("langgraph"),
        "langgraph_suite_saver",
        daemon.socket,
        [path],
        left_out,
        path=Path(__file__).parent,
    )
