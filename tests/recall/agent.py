"""The same questions as an agent asks them: it searches through ``reel mcp``, then reads around the best hits.

It follows a script, and is no model: it asks the first query, and reads hits in their order, unless what it read before
had them.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from tests.recall.questions import Question

# A message: its conversation and its seq.
Place = tuple[str, int]


class Way(NamedTuple):
    """A way to ask: how many hits are read, and whether with thinking; ``None`` where a hit says so."""

    reads: int
    thinking: bool | None


WAYS = {
    "read the best hit": Way(1, None),
    "read the two best hits": Way(2, None),
    "two, thinking never": Way(2, thinking=False),
    "two, thinking always": Way(2, thinking=True),
}


class Recalled(NamedTuple):
    """Of how many questions the answer was read, and its words; and how many bytes the longest reply had."""

    read: int
    shown: int
    longest: int


class Agent:
    """Calls the tools of a server.

    Args:
        process: the server, which has answered nothing yet.
    """

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._number = 0
        self._ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "recall"})

    def recall(self, questions: Sequence[tuple[Question, set[Place]]], way: Way) -> Recalled:
        """Ask questions; the places of their answers are known."""
        found = [self._answered(question, places, way) for question, places in questions]
        read, shown, longest = zip(*found, strict=True)
        return Recalled(sum(read), sum(shown), max(longest))

    def _answered(self, question: Question, places: set[Place], way: Way) -> tuple[bool, bool, int]:
        """Return whether the answer to a question was read, whether its words were, and the bytes of the longest."""
        replies = [self._call("search", query=question.queries[0], everywhere=True)]
        done, shown = set[Place](), False
        for (name, seq), is_thought in _hits(_quoted(replies[0])):
            if len(replies) > way.reads:
                break
            if (name, seq) not in done:
                thinking = is_thought if way.thinking is None else way.thinking
                replies.append(self._call("read", conversation=name, seq=seq, thinking=thinking))
                text = _quoted(replies[-1])
                done |= {(name, int(each)) for each in re.findall(r"^#(\d+) ", text, re.MULTILINE)}
                shown |= any(question.is_answered_by(name, each) for each in (text, " ".join(text.split())))
        return bool(done & places), shown, max(len(each.encode()) for each in replies)

    def _call(self, tool: str, **arguments: Any) -> str:
        text: str = self._ask("tools/call", name=tool, arguments=arguments)["content"][0]["text"]
        return text

    def _ask(self, method: str, **params: Any) -> Mapping[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._number += 1
        request = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        print(json.dumps(request), file=self._process.stdin, flush=True)
        result: Mapping[str, Any] = json.loads(self._process.stdout.readline())["result"]
        return result


@contextmanager
def agent(socket: str) -> Iterator[Agent]:
    """Run a server for a block."""
    reel = "from reel.cli import process; process()"
    command = [sys.executable, "-c", reel, "--socket", socket, "mcp", "--no-import"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/") as process:
        yield Agent(process)


def _quoted(text: str) -> str:
    """Return what stands between the fences of an answer."""
    found = re.search(r"^--- (\w{8}) begins\n(.*)\n--- \1 ends$", text, re.DOTALL | re.MULTILINE)
    return found[2] if found else ""


def _hits(text: str) -> Iterator[tuple[Place, bool]]:
    """Yield the places of hits, and whether their words are in thinking."""
    name = ""
    for line in text.splitlines():
        if hit := re.match(r"  #(\d+) ", line):
            yield (name, int(hit[1])), ", in its thinking" in line
        elif not line.startswith(" "):
            name = line.split(": ")[0]
