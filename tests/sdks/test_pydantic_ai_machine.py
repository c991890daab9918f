"""Whatever is done with a store of Pydantic AI's conversations, it answers as the framework's own store in memory does.

The framework has no suite for stores that it distributes. Its :class:`InMemoryConversationStore` is the reference.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from reel.sync.client import Client
from tests.daemon import Daemon
from tests.forkserver import running_daemon
from tests.thoroughness import FUZZ

pytest.importorskip("pydantic_ai", reason="pydantic-ai-slim is not installed")

from pydantic_ai import messages as m
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import (
    ConversationEntry,
    ConversationRecord,
    ConversationStore,
    InMemoryConversationStore,
)
from pydantic_ai.exceptions import UserError
from pydantic_ai.usage import RunUsage

from reel.integrations.pydantic_ai import ReelConversationStore

_NAMES = st.sampled_from(["a", "b", "c"])
_SCOPES = st.sampled_from([None, "x", "y"])
_COUNTS = st.integers(0, 4)
_WORDS = st.lists(st.text("ab", min_size=1, max_size=2), max_size=3)


def _messages(words: list[str]) -> list[Any]:
    """Return messages, each of which equals another one with the same words."""
    return [m.ModelResponse(parts=[m.TextPart(text)], timestamp=m.ModelResponse([]).timestamp.min) for text in words]


class Store(RuleBasedStateMachine):
    """Both stores, and the conversations that were loaded from each."""

    daemon: Daemon
    runner: asyncio.Runner
    client: Client
    runs = 0

    @initialize()
    def begin(self) -> None:
        """Begin with empty stores."""
        type(self).runs += 1
        self.ours = ReelConversationStore(socket=self.daemon.socket, prefix=f"run-{self.runs}/")
        self.reference = InMemoryConversationStore()
        self.loaded: list[tuple[Conversation, Conversation]] = []
        # The ids of the reference's entries, and of ours in their places.
        self.ids: dict[str | None, str | None] = {None: None}

    def teardown(self) -> None:
        """Close the connection."""
        if hasattr(self, "ours"):
            self.ours.close()

    def both(self, ask: Callable[[ConversationStore], Coroutine[Any, Any, Any]], ours: Any = None) -> tuple[Any, Any]:
        """Ask both stores; they return something, or refuse in the same words."""

        async def answer(store: ConversationStore, question: Any) -> Any:
            try:
                return await question(store)
            except (UserError, LookupError) as error:
                return type(error)

        async def answers() -> tuple[Any, Any]:
            return await answer(self.reference, ask), await answer(self.ours, ours or ask)

        expected, found = self.runner.run(answers())
        refused = isinstance(expected, type)
        assert not refused or expected is found, found
        assert refused or not isinstance(found, type), found
        return (None, None) if refused else (expected, found)

    def learn(self, expected: list[ConversationEntry] | None, found: list[ConversationEntry] | None) -> None:
        """Compare entries, and remember which are the same."""
        assert (expected is None) == (found is None)
        for one, other in zip(expected or (), found or (), strict=True):
            assert self.ids.setdefault(one.id, other.id) == other.id
            assert one.message == other.message
            assert self.ids[one.parent_id] == other.parent_id

    def translated(self, record: ConversationRecord) -> ConversationRecord:
        """Return a record of the reference with our ids."""
        branches = [str(self.ids[entry]) for entry in record.branches]
        places: dict[str, Any] = {
            "head_id": self.ids[record.head_id],
            "forked_at": self.ids[record.forked_at],
            "branches": branches,
        }
        return replace(record, **places)

    def same(self, expected: ConversationRecord | None, found: ConversationRecord | None) -> None:
        """Compare records, but for what each save makes anew."""
        assert (expected is None) == (found is None)
        if expected is not None and found is not None:
            assert self.translated(expected) == replace(
                found, revision=expected.revision, updated_at=expected.updated_at
            )

    def keep(self, pair: tuple[Conversation | None, Conversation | None]) -> None:
        """Compare conversations, and keep them."""
        expected, found = pair
        assert (expected is None) == (found is None)
        if expected is not None and found is not None:
            assert expected == replace(found, revision=expected.revision)
            assert expected.new_message_index == found.new_message_index
            self.loaded.append((expected, found))

    @rule(name=_NAMES, words=_WORDS, scope=_SCOPES)
    def save_new(self, name: str, words: list[str], scope: str | None) -> None:
        """Save a conversation that was not loaded: a conflict if there is one."""
        made = [Conversation(conversation_id=name, messages=_messages(words)) for _ in range(2)]
        expected, found = self.both(
            lambda store: store.save(made[0], scope=scope), lambda store: store.save(made[1], scope=scope)
        )
        self.learn(expected, found)
        self.loaded.append((made[0], made[1]))

    @rule(name=_NAMES, limit=st.none() | st.integers(-1, 5), scope=_SCOPES)
    def load(self, name: str, limit: int | None, scope: str | None) -> None:
        """Load a conversation, or the end of it."""
        self.keep(self.both(lambda store: store.load(name, limit=limit, scope=scope)))
        self.learn(*self.both(lambda store: store.load_entries(name, limit=limit, scope=scope)))

    @precondition(lambda self: self.loaded)
    @rule(data=st.data(), words=_WORDS, keep=st.none() | _COUNTS, serialized=st.booleans(), spent=_COUNTS)
    def save_again(self, data: st.DataObject, words: list[str], keep: int | None, serialized: bool, spent: int) -> None:
        """Save a conversation with more messages, or with others; or one that was serialized meanwhile."""
        pair = data.draw(st.sampled_from(self.loaded))
        for conversation in pair:
            del conversation.messages[len(conversation.messages) if keep is None else keep :]
            conversation.messages += _messages(words)
            conversation.usage += RunUsage(requests=spent)
            if serialized:
                conversation.__dict__.pop("_stored_messages", None)
        first, second = pair
        self.learn(*self.both(lambda store: store.save(first), lambda store: store.save(second)))

    @precondition(lambda self: self.loaded)
    @rule(data=st.data(), at=_COUNTS)
    def branch(self, data: st.DataObject, at: int) -> None:
        """Go back to an earlier message."""
        first, second = data.draw(st.sampled_from(self.loaded))
        self.keep(
            self.both(
                lambda store: store.branch(first.conversation_id, at=at, expected_revision=first.revision),
                lambda store: store.branch(first.conversation_id, at=at, expected_revision=second.revision),
            )
        )

    @precondition(lambda self: len(self.ids) > 1)
    @rule(name=_NAMES, data=st.data(), is_left=st.booleans())
    def branch_to_an_entry(self, name: str, data: st.DataObject, is_left: bool) -> None:
        """Go to an entry: the end of a branch that the conversation left, or any that there was in any conversation."""
        record, found = self.both(lambda store: store.read_record(name))
        left = record.branches if record is not None and is_left else []
        entry = data.draw(st.sampled_from(left or [*self.ids][1:]))
        revisions = [None if each is None else each.revision for each in (record, found)]
        self.keep(
            self.both(
                lambda store: store.branch(name, from_entry=entry, expected_revision=revisions[0]),
                lambda store: store.branch(name, from_entry=self.ids[entry], expected_revision=revisions[1]),
            )
        )

    @rule(name=_NAMES, new_name=_NAMES, at=st.none() | _COUNTS, scope=_SCOPES)
    def fork(self, name: str, new_name: str, at: int | None, scope: str | None) -> None:
        """Begin a conversation with the history of another one."""
        self.keep(self.both(lambda store: store.fork(name, at=at, new_conversation_id=new_name, scope=scope)))

    @rule(name=_NAMES, scope=_SCOPES)
    def delete(self, name: str, scope: str | None) -> None:
        """Delete a conversation; its forks have their past."""
        self.both(lambda store: store.delete(name, scope=scope))

    @rule(scope=_SCOPES, limit=st.none() | st.integers(-1, 3))
    def list_them(self, scope: str | None, limit: int | None) -> None:
        """List the conversations, the last saved first."""
        expected, found = self.both(lambda store: store.list_conversations(scope=scope, limit=limit))
        for one, other in zip(expected or (), found or (), strict=True):
            self.same(one, other)

    @invariant()
    def equal(self) -> None:
        """Compare the records, and what everybody else reads."""
        for name in ("a", "b", "c") if hasattr(self, "ours") else ():
            record, _ = pair = self.both(lambda store, name=name: store.read_record(name))  # type: ignore[misc]
            self.same(*pair)
            if record is not None:
                entries = self.runner.run(self.reference.read_history(record.head_id))
                expected = [part.content for entry in entries for part in entry.message.parts]
                assert expected == [
                    block.get("text")
                    for message in self.client.iter_messages(self.ours.prefix + name)
                    for block in message["content"]
                ]


@pytest.fixture(scope="module", autouse=True)
def daemon() -> Iterator[None]:
    """A daemon that runs for the whole module."""
    with running_daemon() as Store.daemon, asyncio.Runner() as Store.runner, Store.daemon.client() as Store.client:
        yield
        assert [] == Store.client.verify().problems


TestStore = Store.TestCase
TestStore.settings = settings(
    max_examples=max(10, FUZZ // 20), stateful_step_count=25, deadline=None, derandomize=not FUZZ, database=None
)
