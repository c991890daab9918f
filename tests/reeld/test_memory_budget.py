"""The sum of the limits of memory, and the limits of the system."""

import resource
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeld import memory_budget
from reeld.config import Config
from reeld.memory_budget import MEGABYTE, SETTINGS, Limit, described, lowered, most, smallest_limit

VALUES = Config("/s", "/d").memory
FIXED = most(dict.fromkeys(SETTINGS, 0))
LEAST = 16 * MEGABYTE


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A directory with what the system says of the cgroups of this process, which has no limit of its own."""
    monkeypatch.setattr(memory_budget, "_PROC", str(tmp_path / "cgroup"))
    monkeypatch.setattr(memory_budget, "_MOUNT", str(tmp_path / "fs"))
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return tmp_path


def write(system: Path, groups: str, files: dict[str, str]) -> None:
    """Write the cgroups of this process, and files of limits by their paths."""
    (system / "cgroup").write_text(groups)
    for path, text in files.items():
        file = system / "fs" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")


def test_no_limit(system: Path) -> None:
    """Without cgroups, and with such that have no limit, there is none."""
    assert smallest_limit() is None
    write(system, "0::/a\n", {"a/memory.max": "max", "a/memory.high": "max"})
    assert smallest_limit() is None
    write(system, "4:cpu,memory:/b\n", {"memory/b/memory.limit_in_bytes": str((1 << 63) - 4096)})
    assert smallest_limit() is None


def test_limits_of_cgroups(system: Path) -> None:
    """The smallest limit of the cgroup and of those that it is in counts, in either version of cgroups."""
    inner = {"a/b/memory.max": "900", "a/b/memory.high": "max", "a/memory.high": "700", "a/memory.max": "800"}
    write(system, "0::/a/b\n", inner)
    assert Limit(str(system / "fs/a/memory.high"), 700) == smallest_limit()
    write(system, "9:memory:/c\n0::/\n", {"memory/c/memory.limit_in_bytes": "600"})
    assert Limit(str(system / "fs/memory/c/memory.limit_in_bytes"), 600) == smallest_limit()


def test_a_cgroup_that_is_seen_from_inside(system: Path) -> None:
    """In a container the path of the cgroup may not be there, but what it is mounted as has its limit."""
    write(system, "0::/docker/123\n", {"memory.max": "500"})

    assert Limit(str(system / "fs/memory.max"), 500) == smallest_limit()


@pytest.mark.parametrize("name", ["RLIMIT_AS", "RLIMIT_DATA"])
@pytest.mark.usefixtures("system")
def test_limits_of_the_process(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The stacks of threads take a part of a limit of addresses, so a cgroup with the same limit allows more."""
    kind = getattr(resource, name)
    monkeypatch.setattr(resource, "getrlimit", lambda asked: (1 << 30, -1) if asked == kind else (-1, -1))
    found = smallest_limit()

    assert found is not None
    assert (name, 1 << 30) == found[:2]
    assert found.usable < 1 << 30


@given(
    st.fixed_dictionaries({name: st.integers(1, 1 << 33) for name in SETTINGS}),
    st.sets(st.sampled_from(SETTINGS)),
    st.integers(1, 1 << 35),
)
def test_defaults_are_lowered(values: dict[str, int], defaults: set[str], limit: int) -> None:
    """The sum fits, unless what was set, or what cannot be less, is too much; nothing that was set is changed."""
    less = lowered(values, defaults, Limit("a test", limit))
    after = {**values, **less}
    is_least = any(after[name] <= LEAST for name in defaults)

    assert less.keys() <= defaults
    assert all(min(values[name], LEAST) <= after[name] <= values[name] for name in SETTINGS)
    assert most(after) <= limit or is_least or not defaults
    assert not less or most(values) > limit


def test_what_is_said() -> None:
    """The sum is said with its parts, and if it is more than a limit, that too."""
    said, fits = described(VALUES, None)
    assert (
        f"up to {most(VALUES) // MEGABYTE} MB in all: 256 for agents.memory, 256 for connection.all_bytes, 256" in said
    )
    assert fits
    said, fits = described(VALUES, Limit("memory.max", FIXED))
    assert "352 MB (memory.max), which is too little: lower these settings, or raise the limit" in said
    assert not fits
    assert described(VALUES, Limit("memory.max", 8 << 30))[1]
