"""Turns of each framework, step by step, in our store and in the vendor's: what one has after them, the other has.

A turn is a question, a call of a tool, its result and an answer. A step is what one call of a store writes.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from tempfile import TemporaryDirectory
from typing import Annotated, Any, ClassVar, Final, TypedDict

from tests.reel.importing.transcripts import Transcript

# Steps are numbered, and each turn begins with a multiple of how many a turn takes. What is tried again has another
# number of the same step.
Steps = Sequence[int]
AGAIN: Final = 1_000_000


class Played:
    """A session of a framework.

    Args:
        socket: the daemon's.
        session: its id.
    """

    # The framework's module.
    module: ClassVar[str]
    # How many steps a turn takes.
    steps: ClassVar[int] = 4

    def __init__(self, socket: str, session: str) -> None:
        self.socket = socket
        self.session = session
        self.live = self.new()

    @property
    def agent(self) -> str:
        """The agent of the session."""
        raise NotImplementedError

    def new(self) -> Any:
        """Return a store of ours, as another process has it."""
        raise NotImplementedError

    def step(self, number: int) -> None:
        """Do a step in our store."""
        raise NotImplementedError

    def ours(self, store: Any) -> Any:
        """Return what one of our stores has."""
        raise NotImplementedError

    def theirs(self, steps: Steps) -> Any:
        """Return what the vendor's store has after these steps."""
        raise NotImplementedError

    def close(self, store: Any) -> None:
        """Close a store of ours."""
        store.close()


def said(what: str, turn: int) -> str:
    """Return what is said in a turn; no text is the beginning of another one, so that one can be redacted alone."""
    return f"{what} {turn}."


def _json(turn: int) -> str:
    return json.dumps({"n": turn})


class OpenAIAgents(Played):
    """A step is an item."""

    module = "agents"

    @property
    def agent(self) -> str:
        return self.session

    def new(self) -> Any:
        from reel.integrations.openai_agents import ReelSession  # noqa: PLC0415 - it may not be there; as below

        return ReelSession(self.session, socket=self.socket)

    def step(self, number: int) -> None:
        asyncio.run(self.live.add_items([self._item(number)]))

    def ours(self, store: Any) -> Any:
        return asyncio.run(store.get_items())

    def theirs(self, steps: Steps) -> Any:
        from agents import SQLiteSession  # noqa: PLC0415

        async def play() -> Any:
            session = SQLiteSession("theirs")
            for number in steps:
                await session.add_items([self._item(number)])
            found = await session.get_items()
            session.close()
            return found

        return asyncio.run(play())

    @staticmethod
    def _item(number: int) -> Any:
        turn, step = divmod(number % AGAIN, 4)
        return (
            {"role": "user", "content": said("question", turn)},
            {"type": "function_call", "call_id": f"c{turn}", "name": "look", "arguments": _json(turn)},
            {"type": "function_call_output", "call_id": f"c{turn}", "output": said("result", turn)},
            {"role": "assistant", "content": said("answer", turn)},
        )[step]


class AgentFramework(Played):
    """A step is a call of the model: what it was asked, and what it said."""

    module = "agent_framework"
    steps = 2

    @property
    def agent(self) -> str:
        return f"agent-framework/{self.session}"

    def new(self) -> Any:
        from reel.integrations.agent_framework import ReelHistoryProvider  # noqa: PLC0415

        return ReelHistoryProvider(socket=self.socket)

    def step(self, number: int) -> None:
        asyncio.run(self.live.save_messages(self.session, self._messages(number)))

    def ours(self, store: Any) -> Any:
        return [message.to_dict() for message in asyncio.run(store.get_messages(self.session))]

    def theirs(self, steps: Steps) -> Any:
        from agent_framework import InMemoryHistoryProvider  # noqa: PLC0415

        async def play() -> Any:
            store, state = InMemoryHistoryProvider(), dict[str, Any]()
            for number in steps:
                await store.save_messages("theirs", self._messages(number), state=state)
            return [message.to_dict() for message in await store.get_messages("theirs", state=state)]

        return asyncio.run(play())

    def close(self, store: Any) -> None:
        asyncio.run(store.close())

    @staticmethod
    def _messages(number: int) -> Any:
        from agent_framework import Content, Message  # noqa: PLC0415

        turn, step = divmod(number % AGAIN, 2)
        call = Content.from_function_call(f"c{turn}", "look", arguments=_json(turn))
        result = Content.from_function_result(f"c{turn}", result=said("result", turn))
        if step == 0:
            return [Message("user", [said("question", turn)]), Message("assistant", [call])]
        return [Message("tool", [result]), Message("assistant", [said("answer", turn)])]


class PydanticAI(Played):
    """A step is a run, which is a turn."""

    module = "pydantic_ai"
    steps = 1

    @property
    def agent(self) -> str:
        return f"pydantic-ai/{self.session}"

    def new(self) -> Any:
        from reel.integrations.pydantic_ai import ReelConversationStore  # noqa: PLC0415

        return ReelConversationStore(socket=self.socket)

    def step(self, number: int) -> None:
        asyncio.run(self._save(self.live, number))

    def ours(self, store: Any) -> Any:
        return asyncio.run(self._load(store))

    def theirs(self, steps: Steps) -> Any:
        from pydantic_ai.conversation_store import InMemoryConversationStore  # noqa: PLC0415

        async def play() -> Any:
            store = InMemoryConversationStore()
            for number in steps:
                await self._save(store, number)
            return await self._load(store)

        return asyncio.run(play())

    async def _load(self, store: Any) -> Any:
        found = await store.load(self.session)
        return [] if found is None else found.messages

    async def _save(self, store: Any, turn: int) -> None:
        from pydantic_ai import messages as m  # noqa: PLC0415
        from pydantic_ai.conversation import Conversation  # noqa: PLC0415

        conversation = await store.load(self.session) or Conversation(conversation_id=self.session)
        when: Any = m.ModelResponse([]).timestamp.min
        conversation.messages += [
            m.ModelRequest(parts=[m.UserPromptPart(said("question", turn), timestamp=when)], timestamp=when),
            m.ModelResponse(parts=[m.ToolCallPart("look", _json(turn), f"c{turn}")], timestamp=when),
            m.ModelRequest(
                parts=[m.ToolReturnPart("look", said("result", turn), f"c{turn}", timestamp=when)], timestamp=when
            ),
            m.ModelResponse(parts=[m.TextPart(said("answer", turn))], timestamp=when),
        ]
        await store.save(conversation)


class ClaudeAgent(Played):
    """A step is what the SDK appends at once: a question with what the model does, and an answer."""

    module = "claude_agent_sdk"
    steps = 2

    @property
    def key(self) -> Any:
        """The key of the transcript."""
        return {"project_key": "-home", "session_id": self.session}

    @property
    def agent(self) -> str:
        return f"claude/-home/{self.session}"

    def new(self) -> Any:
        from reel.integrations.claude_agent_sdk import ReelSessionStore  # noqa: PLC0415

        return ReelSessionStore(socket=self.socket)

    def step(self, number: int) -> None:
        # Claude Code reads the conversation when it goes on, and its entries follow the last one.
        loaded = self.ours(self.live)
        asyncio.run(self.live.append(self.key, self._entries(number, loaded[-1]["uuid"] if loaded else None)))

    def ours(self, store: Any) -> Any:
        return asyncio.run(store.load(self.key)) or []

    def theirs(self, steps: Steps) -> Any:
        from claude_agent_sdk import InMemorySessionStore  # noqa: PLC0415

        async def play() -> Any:
            store, last = InMemorySessionStore(), None
            for number in steps:
                entries = self._entries(number, last)
                last = entries[-1]["uuid"]
                await store.append(self.key, entries)
            return await store.load(self.key) or []

        return asyncio.run(play())

    @staticmethod
    def _entries(number: int, last: str | None) -> Any:
        made = Transcript()
        made.last = last
        turn, step = divmod(number % AGAIN, 2)
        if step == 0:
            made.user(f"q{number}", said("question", turn))
            made.answer(f"k{number}", {"type": "tool_use", "id": f"c{turn}", "name": "Bash", "input": {}}, f"m{number}")
        else:
            made.result(f"r{number}", f"c{turn}").answer(f"a{number}", said("answer", turn), f"n{number}")
        return made.records


class GoogleADK(Played):
    """A step is an event; a question and a result change the state of the session."""

    module = "google.adk"

    @property
    def agent(self) -> str:
        return f"adk/app/me/{self.session}"

    def new(self) -> Any:
        from reel.integrations.google_adk import ReelSessionService  # noqa: PLC0415

        return ReelSessionService(socket=self.socket)

    def step(self, number: int) -> None:
        asyncio.run(self._append(self.live, number))

    def ours(self, store: Any) -> Any:
        return asyncio.run(self._read(store))

    def theirs(self, steps: Steps) -> Any:
        from google.adk.sessions.in_memory_session_service import InMemorySessionService  # noqa: PLC0415

        async def play() -> Any:
            service = InMemorySessionService()
            for number in steps:
                await self._append(service, number)
            return await self._read(service)

        return asyncio.run(play())

    def close(self, store: Any) -> None:
        asyncio.run(store.close())

    def _place(self) -> Any:
        return {"app_name": "app", "user_id": "me", "session_id": self.session}

    async def _read(self, service: Any) -> Any:
        found = await service.get_session(**self._place())
        return ([], {}) if found is None else ([event.model_dump(mode="json") for event in found.events], found.state)

    async def _append(self, service: Any, number: int) -> None:
        from google.adk.events.event import Event  # noqa: PLC0415
        from google.adk.events.event_actions import EventActions  # noqa: PLC0415
        from google.genai import types  # noqa: PLC0415

        turn, step = divmod(number % AGAIN, 4)
        part: Any = (
            types.Part(text=said("question", turn)),
            types.Part(function_call=types.FunctionCall(id=f"c{turn}", name="look", args={"n": turn})),
            types.Part(function_response=types.FunctionResponse(id=f"c{turn}", name="look", response={"n": turn})),
            types.Part(text=said("answer", turn)),
        )[step]
        changes: Any = ({"asked": said("question", turn)}, {}, {f"turn-{turn}": True}, {})[step]
        event = Event(
            id=f"e{number}",
            invocation_id=f"i{turn}",
            author="user" if step == 0 else "deck",
            timestamp=number + 1.0,
            content=types.Content(role="model" if step in (1, 3) else "user", parts=[part]),
            actions=EventActions(state_delta=changes),
        )
        session = await service.get_session(**self._place()) or await service.create_session(**self._place())
        await service.append_event(session, event)


class LangGraph(Played):
    """A step is a question, or what the graph does with it; the first one of our store does both."""

    module = "langgraph.checkpoint.base"
    steps = 2

    @property
    def agent(self) -> str:
        return f"langgraph/{self.session}"

    @property
    def config(self) -> Any:
        """The thread."""
        return {"configurable": {"thread_id": self.session}}

    def new(self) -> Any:
        from reel.integrations.langgraph import ReelSaver  # noqa: PLC0415

        return ReelSaver(socket=self.socket)

    def step(self, number: int) -> None:
        self._step(self.live, number)

    def ours(self, store: Any) -> Any:
        return self._shape(store)

    def theirs(self, steps: Steps) -> Any:
        from langgraph.checkpoint.memory import InMemorySaver  # noqa: PLC0415

        saver = InMemorySaver()
        for number in steps:
            self._step(saver, number)
        return self._shape(saver)

    def _step(self, saver: Any, number: int) -> None:
        turn, step = divmod(number % AGAIN, 2)
        graph = self._graph(saver)
        if step == 0:
            graph.invoke({"messages": [("user", said("question", turn))]}, self.config, interrupt_before=["model"])
        else:
            graph.invoke(None, self.config)

    def _shape(self, saver: Any) -> Any:
        state = self._graph(saver).get_state(self.config)
        values = {key: value for key, value in state.values.items() if key != "messages"}
        return [message.text for message in state.values.get("messages", ())], values, state.next

    @staticmethod
    def _graph(saver: Any) -> Any:
        from langchain_core.messages import AIMessage  # noqa: PLC0415
        from langgraph.graph import START, StateGraph  # noqa: PLC0415
        from langgraph.graph.message import add_messages  # noqa: PLC0415

        class State(TypedDict):
            messages: Annotated[list[Any], add_messages]
            turns: int
            plans: int

        def model(state: State) -> Any:
            # Not of what was asked, which may be redacted by now.
            answer = said("answer", len(state["messages"]))
            return {"messages": [AIMessage(answer)], "turns": state.get("turns", 0) + 1}

        builder = StateGraph(State)
        builder.add_node("plan", lambda state: {"plans": state.get("plans", 0) + 1})
        builder.add_node("model", model)
        builder.add_edge(START, "plan")
        builder.add_edge("plan", "model")
        return builder.compile(checkpointer=saver)


class StrandsAgents(Played):
    """A step is a message."""

    module = "strands"

    @property
    def agent(self) -> str:
        return f"strands/{self.session}/default"

    def new(self) -> Any:
        from reel.integrations.strands_agents import ReelSessionRepository  # noqa: PLC0415

        return ReelSessionRepository(socket=self.socket)

    def step(self, number: int) -> None:
        self._create(self.live, number)

    def ours(self, store: Any) -> Any:
        return self._read(store)

    def theirs(self, steps: Steps) -> Any:
        from strands.session.file_session_manager import FileSessionManager  # noqa: PLC0415

        with TemporaryDirectory() as directory:
            store = FileSessionManager(self.session, directory)
            for number in steps:
                self._create(store, number)
            return self._read(store)

    def _read(self, store: Any) -> Any:
        if store.read_agent(self.session, "default") is None:
            return []
        return [each.message for each in store.list_messages(self.session, "default")]

    def _create(self, store: Any, number: int) -> None:
        from strands.types.session import SessionAgent, SessionMessage  # noqa: PLC0415

        turn, step = divmod(number % AGAIN, 4)
        content: Any = (
            {"text": said("question", turn)},
            {"toolUse": {"toolUseId": f"c{turn}", "name": "look", "input": {"n": turn}}},
            {"toolResult": {"toolUseId": f"c{turn}", "status": "success", "content": [{"text": said("result", turn)}]}},
            {"text": said("answer", turn)},
        )[step]
        if store.read_agent(self.session, "default") is None:
            store.create_agent(self.session, SessionAgent("default", {}, {}))
        before = store.list_messages(self.session, "default")
        message: Any = {"role": "assistant" if step in (1, 3) else "user", "content": [content]}
        number = before[-1].message_id + 1 if before else 0
        store.create_message(self.session, "default", SessionMessage(message, number))


class OpenHands(Played):
    """A step is an event."""

    module = "openhands.sdk"

    @property
    def agent(self) -> str:
        return f"openhands/{self.session}"

    def new(self) -> Any:
        from reel.integrations.openhands_sdk import ReelFileStore  # noqa: PLC0415

        store = ReelFileStore(self.session, socket=self.socket)
        self._begin(store)
        return store

    def step(self, number: int) -> None:
        self._append(self.live, number)

    def ours(self, store: Any) -> Any:
        return self._read(store)

    def theirs(self, steps: Steps) -> Any:
        from openhands.sdk.io import InMemoryFileStore  # noqa: PLC0415

        store = InMemoryFileStore()
        self._begin(store)
        for number in steps:
            self._append(store, number)
        return self._read(store)

    @staticmethod
    def _begin(store: Any) -> None:
        """Write the prompt, without which the framework has no conversation, unless it is there."""
        from openhands.sdk.conversation.event_store import EventLog  # noqa: PLC0415
        from openhands.sdk.event import Event  # noqa: PLC0415

        prompt = {"kind": "SystemPromptEvent", "system_prompt": {"type": "text", "text": "Be kind."}, "tools": []}
        if not len(EventLog(store)):
            event = {**prompt, "id": "ffffffff", "timestamp": "2026-01-01T00:00:00"}
            EventLog(store).append(Event.model_validate(event))

    @staticmethod
    def _read(store: Any) -> Any:
        from openhands.sdk.conversation.event_store import EventLog  # noqa: PLC0415

        # Others' changes may have made each event follow another one.
        return [event.model_dump(mode="json", exclude={"parent_id"}) for event in EventLog(store)]

    @staticmethod
    def _append(store: Any, number: int) -> None:
        from openhands.sdk.conversation.event_store import EventLog  # noqa: PLC0415
        from openhands.sdk.event import Event  # noqa: PLC0415

        turn, step = divmod(number % AGAIN, 4)
        call = {"id": f"c{turn}", "name": "look", "arguments": _json(turn), "origin": "completion"}
        named = {"tool_name": "look", "tool_call_id": f"c{turn}"}

        def words(role: str, text: str) -> Any:
            message = {"role": role, "content": [{"type": "text", "text": text}]}
            return {"kind": "MessageEvent", "source": "agent" if role == "assistant" else role, "llm_message": message}

        made: Any = (
            words("user", said("question", turn)),
            {"kind": "ActionEvent", "thought": [], "tool_call": call, "llm_response_id": f"r{turn}", **named},
            {"kind": "AgentErrorEvent", "error": said("result", turn), **named},
            words("assistant", said("answer", turn)),
        )[step]
        event = {**made, "id": f"{number:08x}", "timestamp": "2026-01-01T00:00:00"}
        EventLog(store).append(Event.model_validate(event))


FRAMEWORKS: Final[dict[str, Callable[[str, str], Played]]] = {
    "openai-agents": OpenAIAgents,
    "claude-agent-sdk": ClaudeAgent,
    "agent-framework": AgentFramework,
    "pydantic-ai": PydanticAI,
    "langgraph": LangGraph,
    "google-adk": GoogleADK,
    "strands-agents": StrandsAgents,
    "openhands-sdk": OpenHands,
}
