"""Redactions and purges at random: a real daemon, a naive model of what is left, and every byte of every file."""

import random
import re
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reel.sync.client import Client
from reeld.verify.file import check
from tests.crash.workload import LONG
from tests.forkserver import ForkedDaemon

_MARKER = re.compile(r"\[redacted [^]]*\]")
_STEPS = 120


class Said:
    """An event; all who have it in their past share it."""

    def __init__(self, owner: str, seq: int, kind: str, text: str | None = None) -> None:
        self.owner = owner
        self.seq = seq
        self.kind = kind
        self.text = text
        # The nodes that a clone into the agent brought.
        self.taken: list[Said] = []
        # Whether a clear has repeated a prompt.
        self.is_repeated = False


class Modelled:
    """An agent: its past, the nodes of its conversation, and those after each command."""

    def __init__(self, uid: str, source: "Modelled | None" = None, at: int = 0) -> None:
        self.uid = uid
        self.source = None if source is None else source.uid
        self.past: list[Said] = []
        self.states: dict[int, list[Said]] = {0: []}
        if source is not None:
            self.past = [event for event in source.past if event.seq <= at]
            self.states = {seq: nodes for seq, nodes in source.states.items() if seq <= at}
        self.nodes = self.states[at]
        self.is_alive = True

    @property
    def head(self) -> int:
        """The seq of the newest event."""
        return self.past[-1].seq

    @property
    def reach(self) -> set[Said]:
        """All that may be needed of the past."""
        return {*self.past, *(node for event in self.past for node in event.taken)}

    @property
    def words(self) -> list[str]:
        """All words in reach."""
        return sorted({word for event in self.reach for word in words_in([event])})

    def write(self, kind: str, text: str | None = None, *, is_node: bool = False) -> Said:
        """Write an event."""
        event = Said(self.uid, self.head + 1, kind, text)
        self.past = [*self.past, event]
        self.nodes = [*self.nodes, event] if is_node else self.nodes
        return event

    def end(self) -> None:
        """End a command."""
        self.states[self.head] = self.nodes


def words_in(events: Iterable[Said]) -> set[str]:
    """Return the words of events."""
    return {word for event in events if event.text for word in event.text.split() if word.startswith("word")}


class Model:
    """The agents of a daemon, each command given to both.

    Args:
        client: of the daemon.
        seed: chooses the commands.
        backup: a path for a backup.
    """

    def __init__(self, client: Client, seed: int, backup: Path) -> None:
        self.client = client
        self.random = random.Random(seed)
        self.agents: dict[str, Modelled] = {}
        # Those that were purged, of which others may have inherited.
        self._purged: list[Modelled] = []
        # All events that are still in the database.
        self.stored: set[Said] = set()
        self.gone: set[str] = set()
        self._backup = backup
        self._number = 0

    def text(self) -> str:
        """Return a text that was never used."""
        self._number += 1
        return " ".join(f"word{self._number:05}{letter}{self.random.randrange(1 << 40):010x}" for letter in "ab")

    def any(self, *, alive: bool = True) -> Modelled:
        """Return an agent."""
        return self.random.choice([agent for agent in self.agents.values() if agent.is_alive or not alive])

    def step(self) -> None:
        """Carry out a command at random."""
        living = [agent for agent in self.agents.values() if agent.is_alive]
        writing = ["add", "add", "add", "note", "clear", "prompt", "restore", "clone", "clone", "take_over", "kill"]
        what = self.random.choice([*writing, "redact_text", "redact_text", "redact_seqs", "purge"])
        getattr(self, "create" if len(living) < 2 else what)()
        self.stored |= {event for agent in self.agents.values() for event in agent.past}

    def create(self) -> None:
        """Create an agent with a prompt."""
        prompt = self.text()
        agent = Modelled(self.client.create(system=prompt).id)
        agent.past = [Said(agent.uid, 1, "created")]
        agent.write("system", prompt, is_node=True)
        agent.end()
        self.agents[agent.uid] = agent

    def add(self) -> None:
        """Add messages."""
        agent, texts = self.any(), [self.text() for _ in range(self.random.randrange(1, 4))]
        self.client.add(agent.uid, texts)
        for text in texts:
            agent.write("user", text, is_node=True)
        agent.end()

    def note(self) -> None:
        """Add a note."""
        agent, text = self.any(), self.text()
        self.client.add(agent.uid, [{"kind": "note", "content": text}])
        agent.write("note", text)
        agent.end()

    def prompt(self) -> None:
        """Set the prompt."""
        agent, text = self.any(), self.text()
        self.client.add(agent.uid, [{"kind": "system", "content": text}])
        agent.write("system", text, is_node=True)
        agent.end()

    def clear(self) -> None:
        """Clear a conversation, which keeps the prompt."""
        agent = self.any()
        self.client.clear(agent.uid)
        prompt = next((node.text for node in reversed(agent.nodes) if node.kind == "system"), None)
        agent.nodes = []
        agent.write("clear")
        if prompt is not None:
            agent.write("system", prompt, is_node=True).is_repeated = True
        agent.end()

    def restore(self) -> None:
        """Go back to any state."""
        agent = self.any()
        at = self.random.choice(sorted(agent.states))
        self.client.restore(agent.uid, at)
        agent.nodes = agent.states[at]
        agent.write("restore")
        agent.end()

    def clone(self) -> None:
        """Clone an agent at any state."""
        source = self.any(alive=False)
        at = self.random.choice([*sorted(source.states)[1:], source.head])
        agent = Modelled(self.client.clone(source.uid, at=at).id, source, at)
        agent.past = [*agent.past, Said(agent.uid, at + 1, "clone")]
        agent.end()
        self.agents[agent.uid] = agent

    def take_over(self) -> None:
        """Replace the state of an agent by one of another."""
        taker, source = self.any(), self.any(alive=False)
        if taker is source:
            return
        at = self.random.choice(sorted(source.states))
        self.client.clone(source.uid, at=at, into=taker.uid)
        event = Said(taker.uid, max(taker.head, at) + 1, "clone")
        event.taken = taker.nodes = source.states[at]
        taker.past = [*taker.past, event]
        taker.end()

    def kill(self) -> None:
        """Kill an agent, but not often."""
        if self.random.random() < 0.5:
            agent = self.any()
            self.client.kill(agent.uid)
            agent.write("agent_killed")
            agent.end()
            agent.is_alive = False

    def redact_text(self) -> None:
        """Redact a word, in the backup as well."""
        agent = self.any(alive=False)
        if not agent.words:
            return
        word = self.random.choice(agent.words)
        backups = [str(self._backup)] if self._backup.exists() else None
        reply = self.client.redact(agent.uid, text=word, backups=backups)
        found = {event for event in agent.reach if word in words_in([event])}
        found |= self.repeats(found)
        assert len(found) == reply.redacted
        for event in found:
            event.text = str(event.text).replace(word, "[redacted ]")
        assert {each.uid for each in self.agents.values() if found & each.reach} <= {*reply.affected}
        agent.write("redacted")
        agent.end()
        self.erased({word})
        if backups:
            assert word.encode() not in self._backup.read_bytes()

    def redact_seqs(self) -> None:
        """Redact all of an event."""
        agent = self.any(alive=False)
        texts = [event for event in agent.reach if event.text]
        # What is nothing but a marker changes if the clock has gone on since.
        seqs = {event.seq for event in texts} - {event.seq for event in texts if not words_in([event])}
        if not seqs:
            return
        seq = self.random.choice(sorted(seqs))
        reply = self.client.redact(agent.uid, seqs=[seq])
        found = {event for event in texts if event.seq == seq}
        found |= self.repeats(found)
        assert len(found) == reply.redacted
        words = words_in(found)
        for event in found:
            event.text = "[redacted ]"
        agent.write("redacted")
        agent.end()
        self.erased(words)

    def repeats(self, found: set[Said]) -> set[Said]:
        """Return the prompts that affected agents have repeated."""
        prompts = {event.text for event in found if event.kind == "system"}
        affected = {agent.uid for agent in (*self.agents.values(), *self._purged) if found & agent.reach}
        return {
            event
            for event in self.stored - found
            if event.is_repeated and event.text in prompts and event.owner in affected
        }

    def purge(self) -> None:
        """Remove agents."""
        root = self.any(alive=False)
        how = self.random.choice(["", "cascade", "force"])
        family, waiting = {root.uid}, [root.uid]
        while how and waiting:
            uid = waiting.pop()
            clones = [agent for agent in self.agents.values() if agent.source == uid]
            later = {agent.uid for agent in clones if how == "force" or not agent.is_alive}
            family |= later
            waiting += later
        reply = self.client.purge(root.uid, how == "cascade", how == "force")
        before = {event for event in self.stored if event.owner in family}
        for uid in family:
            self._purged.append(self.agents.pop(uid))
        needed = {event for agent in self.agents.values() for event in agent.reach}
        assert (family, len(self.stored - needed)) == ({*reply.purged}, reply.events)
        assert (len(before & needed), bool(before & needed)) == (reply.kept, bool(reply.heirs))
        self.erased(words_in(self.stored - needed))
        self.stored = needed

    def erased(self, words: set[str]) -> None:
        """Note the words that nobody has any more."""
        left = words_in(self.stored | {event for agent in self.agents.values() for event in agent.reach})
        self.gone |= words - left

    def compare(self) -> None:
        """Compare each agent with what the daemon has of it."""
        assert {*self.agents} == {agent.id for agent in self.client.iter_agents()}
        for agent in self.agents.values():
            history = [shown(event) for event in self.client.iter_history(agent.uid, inherited=True)]
            assert [(event.seq, event.kind, event.text) for event in agent.past] == history
            conversation = [shown(record) for record in self.client.iter_conversation(agent.uid)]
            assert [(event.seq, event.kind, event.text) for event in agent.nodes] == conversation
            assert self.client.replay(agent.uid, limit=1).matched

    def look(self, directory: Path) -> None:
        """Look for what is gone in every file, and for what is left in one."""
        files = {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}
        found = [(word, name) for name, data in files.items() for word in self.gone if word.encode() in data]
        assert [] == found
        left = b"".join(files.values())
        assert [] == [word for word in words_in(self.stored) if word.encode() not in left]


def shown(event: Any) -> tuple[int, str, str | None]:
    """Return what is compared of an event or a record."""
    text = event["content"]
    return event["seq"], event["kind"], text and _MARKER.sub("[redacted ]", text)


@pytest.mark.parametrize("seed", range(60 if LONG else 1))
def test_erasing_at_random(directory: Path, tmp_path: Path, seed: int) -> None:
    """After any erasures each agent is what a naive model says, and no file has what was erased."""
    backup = tmp_path / "copy.db"
    with closing(ForkedDaemon(directory).start()) as daemon:
        with daemon.client() as client:
            model = Model(client, seed, backup)
            for number in range(_STEPS):
                if number == _STEPS // 2:
                    client.backup(str(backup))
                erased = len(model.gone)
                model.step()
                if len(model.gone) > erased:
                    model.look(directory)
                    model.compare()
            model.compare()
            assert [] == client.verify().problems
        daemon.kill()
        daemon.start()
        with daemon.client() as client:
            model.client = client
            model.compare()
        model.look(directory)
    assert [] == check(str(backup), lambda *_: None).listed
