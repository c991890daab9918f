"""Print how fast reel is on this machine: ``make bench``, or ``make bench ROW=add-64`` for a part of it.

``ROW=frameworks`` measures the adapters beside the frameworks' own stores, ``ROW=postgres`` a database on a server, and
``ROW=all`` everything.

Each figure stands beside what bounds it, or beside a comparable program, measured in turns in the same run on the same
disk. Run it on a quiet machine. What is not installed is left out; the end says what that was.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tests.bench import (
    adds,
    beside,
    followers,
    frameworks,
    importing,
    postgres,
    programs,
    reads,
    rendering,
    search,
    turns,
)
from tests.bench.setting import Setting, say
from tests.bench.table import Row

# By what they are about; those of the first set are measured if nothing else is asked for.
SETS = {
    "core": (
        Row("add-lone", 5, adds.lone),
        Row("add-64", 20, adds.clients),
        Row("add-pipelined", 15, adds.pipelined),
        Row("add-bulk", 3, adds.bulk),
        Row("read", 5, reads.pages),
        Row("cold", 35, reads.cold),
        Row("readers", 10, reads.readers),
        Row("clone", 5, reads.clones),
        Row("render-first", 15, rendering.first),
        Row("render-again", 25, rendering.again),
        Row("push", 6, followers.pushes),
        Row("follow-past", 25, followers.past),
        Row("fan-out", 5, followers.fan_out),
        Row("beside", 20, beside.others),
        Row("search", 60, search.search),
        Row("add-indexed", 40, search.adds_beside_the_index),
        Row("import", 60, importing.imports),
        Row("import-again", 30, importing.again),
        Row("start", 6, programs.start),
        Row("command", 6, programs.command),
        Row("memory", 30, programs.memory),
    ),
    "frameworks": (
        Row("openai-agents", 40, frameworks.openai_agents),
        Row("pydantic-ai", 15, frameworks.pydantic_ai),
        Row("claude-agent-sdk", 30, frameworks.claude_agent_sdk),
        Row("agent-framework", 25, frameworks.agent_framework),
        Row("langgraph", 60, frameworks.langgraph),
        Row("google-adk", 60, frameworks.google_adk),
        Row("turns", 400, turns.turns),
        Row("two-at-once", 40, frameworks.two_at_once),
        Row("live", 15, frameworks.live),
    ),
    "postgres": (
        Row("postgres-add", 30, postgres.adds),
        Row("postgres-lock", 6, postgres.lock),
        Row("postgres-push", 12, postgres.pushes),
        Row("postgres-length", 12, postgres.lengths),
    ),
}


def main() -> None:
    """Measure the rows that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    named = {row.name: (row,) for rows in SETS.values() for row in rows} | SETS
    named["all"] = tuple(row for rows in SETS.values() for row in rows)
    parser.add_argument(
        "rows", nargs="*", metavar="ROW", default=["core"], help=f"what to measure: {', '.join(named)}; default core"
    )
    parser.add_argument("--directory", type=Path, help="where to write; the disk there is measured")
    given = parser.parse_args()
    unknown = [name for name in given.rows if name not in named]
    if unknown:
        parser.error(f"no row {', '.join(unknown)}; there are {', '.join(named)}")
    chosen = list(dict.fromkeys(row for name in given.rows for row in named[name]))
    say(f"{len(chosen)} rows, about {sum(row.seconds for row in chosen)} seconds; Ctrl-C ends it")
    say(f"Python {sys.version.split()[0]}, {os.cpu_count()} processors")
    with tempfile.TemporaryDirectory(prefix="reel-bench-", dir=given.directory) as name, Setting(Path(name)) as setting:
        for row in chosen:
            say(row.name)
            for line in row.measure(setting):
                say(str(line))
        if setting.left_out:
            say("left out")
        for what, why in setting.left_out.items():
            say(f"  {what}: {why}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
