"""A real daemon that is killed at any moment has the same conversations as a naive model of snapshots."""

import signal
from contextlib import ExitStack
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from reel.said.messages import Record
from tests.daemon import short_directory
from tests.forkserver import ForkedDaemon
from tests.model import Marked, ModelAgent, Said, refusal
from tests.postgres import own_schema

_RECORDS = st.one_of(
    st.builds(lambda text: {"kind": "user", "content": text}, st.sampled_from(["hi", "", "wörter"])),
    st.just({"kind": "assistant", "content": "yes", "data_json": '{"model":"m"}'}),
    st.just({"kind": "system", "content": "be brief"}),
    st.just({"kind": "tool_call", "data_json": '{"tool_call_id":"a","name":"n","arguments":"{}"}'}),
    st.just({"kind": "tool_result", "data_json": '{"tool_call_id":"a","output":"out","success":true}'}),
    st.just({"kind": "note", "content": "to self"}),
)
_LABELS = st.sampled_from([None, "one", "two"])
_FRACTION = st.floats(0, 1)


class Conversations(RuleBasedStateMachine):
    """The daemon's agents beside the model's."""

    agents = Bundle("agents")

    def __init__(self) -> None:
        super().__init__()
        self._stack = ExitStack()
        self.daemon = ForkedDaemon(self._stack.enter_context(short_directory()))
        self.place(self._stack)
        self.client = self.daemon.start().client()
        self.models: dict[str, ModelAgent] = {}
        self.touched: set[str] = set()

    def place(self, stack: ExitStack) -> None:
        """Say where the database of the daemon is."""

    def teardown(self) -> None:
        checked = self.client.verify()
        self.client.close()
        self.daemon.close()
        self._stack.close()
        assert ([], len(self.models)) == (checked.problems, checked.agents)

    def both(self, agent: str, real: Any, model: Any) -> None:
        """Send the daemon and the model the same command; both accept it or both refuse it."""
        self.touched.add(agent)
        refused = refusal(lambda: model(self.models[agent]))

        assert refused == refusal(real)
        assert self.models[agent].head == self.client.agent(agent).head

    @rule(target=agents, system=st.sampled_from([None, "be brief"]))
    def create(self, system: str | None) -> str:
        info = self.client.create(system=system)
        self.models[info.id] = ModelAgent()
        self.models[info.id].create(system)
        return info.id

    @rule(agent=agents, records=st.lists(_RECORDS, min_size=1, max_size=3))
    def add(self, agent: str, records: list[Any]) -> None:
        rows = [(record["kind"], record.get("content"), record.get("data_json")) for record in records]
        self.both(agent, lambda: self.client.add(agent, records), lambda model: model.add(rows))

    @rule(agent=agents, label=_LABELS)
    def mark(self, agent: str, label: str | None) -> None:
        self.both(agent, lambda: self.client.mark(agent, label), lambda model: model.mark(label))

    @rule(agent=agents, label=_LABELS)
    def rewind(self, agent: str, label: str | None) -> None:
        self.both(agent, lambda: self.client.rewind(agent, label), lambda model: model.rewind(label))

    @rule(agent=agents)
    def clear(self, agent: str) -> None:
        self.both(agent, lambda: self.client.clear(agent), lambda model: model.clear())

    @rule(agent=agents)
    def undo(self, agent: str) -> None:
        self.both(agent, lambda: self.client.undo(agent), lambda model: model.undo())

    @rule(agent=agents)
    def redo(self, agent: str) -> None:
        self.both(agent, lambda: self.client.redo(agent), lambda model: model.redo())

    @rule(agent=agents, fraction=_FRACTION)
    def restore(self, agent: str, fraction: float) -> None:
        at = round(self.models[agent].head * fraction)
        self.both(agent, lambda: self.client.restore(agent, at), lambda model: model.restore(at))

    @rule(target=agents, source=agents, fraction=_FRACTION)
    def clone(self, source: str, fraction: float) -> str:
        at = round(self.models[source].head * fraction)
        info = self.client.clone(source, at=at)
        self.models[info.id] = self.models[source].clone(at)
        self.touched.add(info.id)
        return info.id

    @rule(source=agents, into=agents, fraction=_FRACTION)
    def clone_into(self, source: str, into: str, fraction: float) -> None:
        at = round(self.models[source].head * fraction)
        if source != into:
            origin = self.models[source]
            self.both(
                into, lambda: self.client.clone(source, at=at, into=into), lambda model: model.take_over(origin, at)
            )

    @rule(agent=agents)
    def kill_or_revive(self, agent: str) -> None:
        model = self.models[agent]
        if model.alive:
            self.client.kill(agent)
        else:
            self.client.revive(agent)
        model.alive = not model.alive
        model.inert()
        self.touched.add(agent)

    @rule(how=st.sampled_from([signal.SIGKILL, signal.SIGTERM]))
    def restart(self, how: signal.Signals) -> None:
        if how == signal.SIGKILL:
            self.daemon.kill()
        else:
            self.daemon.end(how)
        self.daemon.start()
        self.touched.update(self.models)

    @invariant()
    def all_agree(self) -> None:
        for agent in self.touched:
            model, info = self.models[agent], self.client.agent(agent)
            running = self.client.conversation(agent).conversation
            replayed = self.client.replay(agent, view="conversation")

            assert replayed.matched
            assert running == replayed.conversation
            assert model.records == [_said(record) for record in running]
            assert model.marks == [Marked(mark.seq, mark.label) for mark in info.marks]
            assert (model.head, model.alive) == (info.head, info.alive)
        self.touched.clear()


def _said(record: Record) -> Said:
    return Said(record["seq"], record["kind"], record["content"], record["data_json"])


class ConversationsOnAServer(Conversations):
    """The same with PostgreSQL."""

    def place(self, stack: ExitStack) -> None:
        self.daemon.database = stack.enter_context(own_schema())


_SETTINGS = settings(max_examples=2, stateful_step_count=25, suppress_health_check=list(HealthCheck))
Conversations.TestCase.settings = _SETTINGS
TestConversations = Conversations.TestCase
ConversationsOnAServer.TestCase.settings = _SETTINGS
TestConversationsOnAServer = ConversationsOnAServer.TestCase
