"""The daemon's counters, for the method ``stats`` and the metrics file."""

import os
import resource
from heapq import nlargest
from pathlib import Path
from typing import Any

import anyio

from reel.base.errors import Storage
from reeld.agents.registry import Registry
from reeld.serving.call import Result, Services
from reeld.serving.drafts import Drafts
from reeld.store import queries
from reeld.store.room import size_of
from reeld.store.store import Store
from reeld.store.wal import wal_readers

# Seconds that a database server may take to count; `stats` must answer even if the server is gone.
_ANSWERS = 3
_STATM = Path("/proc/self/statm")
# Agents and connections that are described, so that a reply is not larger than a page.
_MOST_DESCRIBED = 1000


async def _files(path: str) -> Result:
    return {
        "database_bytes": size_of(path),
        "wal_bytes": size_of(f"{path}-wal"),
        "wal_readers": await anyio.to_thread.run_sync(wal_readers, path),
    }


async def collect(services: Services) -> Result:
    """Return every counter, size and histogram."""
    writer, registry, cache = services.store.writer, services.registry, services.render_cache
    totals, unreadable = await _totals(services.store)
    await services.search.known_soon()
    return {
        **services.counters(),
        "engine": services.store.engine.name,
        **(await _files(services.store.path) if services.store.is_file else {}),
        **totals,
        "loaded_agents": len(registry),
        "loaded_bytes": registry.residency.size,
        "started_agents": registry.started,
        "failed_agents": registry.failed,
        "mended_agents": registry.repaired,
        "jobs_waiting": registry.waiting,
        "subscriptions": registry.bus.subscriptions,
        "lagged_subscriptions": registry.bus.lagged,
        "drafts": len(services.drafts),
        "commits": writer.commits,
        "commits_waiting": writer.waiting,
        "events_written": writer.events,
        "longest_commit_us": int(writer.longest_commit * 1e6),
        "commit_seconds": writer.commit_seconds.as_map(),
        "commit_events": writer.commit_events.as_map(),
        "lost_events": writer.lost_events,
        "storage_problem": writer.problem or unreadable,
        "housekeeping_problem": services.store.housekeeping.problem,
        "search_index": services.search.path,
        "search_index_bytes": services.search.size,
        "search_indexed": services.search.indexed,
        "search_behind": services.search.behind,
        "search_without_trigrams": services.search.without_trigrams,
        "search_problem": services.search.problem,
        "erasing_problem": services.store.eraser.problem,
        "retention_problem": services.retention.problem or services.pruning_old.problem,
        "retention_after": services.retention.after,
        "retention_history_days": services.pruning_old.rules.days,
        "retention_history_after": services.pruning_old.after,
        "retention_pruned_events": services.pruning_old.done.events,
        "retention_pruned_bytes": services.pruning_old.done.bytes,
        **services.backups.counters(),
        **services.scheduled_backups.counters(),
        "render_cache_bytes": cache.size,
        "render_cache_hits": cache.hits,
        "render_cache_misses": cache.misses,
        "memory_kb": memory_kb(),
        "open_files": len(os.listdir("/dev/fd")),
    }


async def _totals(store: Store) -> tuple[Result, str | None]:
    """Return the counts of the database, or why there are none: `stats` must work without it, too."""
    try:
        with anyio.fail_after(None if store.is_file else _ANSWERS):
            return await store.read(queries.totals), None
    except TimeoutError:
        reason = f"the database server has not answered for {_ANSWERS} s"
    except Storage as error:
        reason = error.message
    where = "disk" if store.is_file else "server"
    unknown = {"newest_event": store.writer.newest, "agents": None, "living_agents": None}
    return unknown, f"{reason}; look at the {where}, see docs/operations.md"


def details(services: Services) -> Result:
    """Return what is known of each agent in memory, the last used first, and of each connection."""
    return {
        "agent_details": _agents(services.registry, services.drafts),
        "connection_details": services.describe_connections()[:_MOST_DESCRIBED],
        "followers": sorted(services.registry.bus.followers(None)),
    }


def _agents(registry: Registry, drafts: Drafts) -> list[Result]:
    writers = drafts.writers()
    found: list[dict[str, Any]] = []
    for agent in nlargest(_MOST_DESCRIBED, registry.live(), key=lambda agent: agent.last_used):
        if agent.live.state is not None:  # it has been loaded
            profile = agent.live.state.profile
            about = {
                "id": profile.uid,
                "name": profile.name,
                "head": profile.head,
                "updated": profile.updated,
                "jobs_waiting": agent.waiting,
                "followers": sorted(registry.bus.followers(agent.row)),
                "drafts": writers.get(agent.row, []),
            }
            found.append(about)
    return found


def memory_kb() -> int:
    """Return the resident memory; on macOS its peak, because a process cannot read its current use there.

    On Linux the peak would be that of the parent from before the exec, if that was larger.
    """
    if not _STATM.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024  # macOS counts bytes
    return int(_STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
