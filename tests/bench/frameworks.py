"""Rows about the adapters for frameworks, each beside the framework's own store."""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

from tests.bench.setting import TEXT, Setting
from tests.bench.table import Line, in_turns, timed

_LONG = 10_000
_MANY = 1_000


def pydantic_ai(setting: Setting) -> Iterator[Line]:
    """Measure the store of Pydantic AI's conversations; the framework's own is in memory, and copies what it has."""
    if find_spec("pydantic_ai") is None:
        return
    from pydantic_ai.conversation import Conversation  # noqa: PLC0415 - it is large, and may not be there
    from pydantic_ai.conversation_store import InMemoryConversationStore  # noqa: PLC0415
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart  # noqa: PLC0415

    from reel.integrations.pydantic_ai import ReelConversationStore  # noqa: PLC0415

    ours = ReelConversationStore(socket=setting.daemon.socket)
    stores: tuple[Any, Any] = (ours, InMemoryConversationStore())

    def run(awaitable: Any) -> Any:
        return setting.loop.run_until_complete(awaitable)

    def turns(count: int) -> list[Any]:
        turn = [ModelRequest(parts=[UserPromptPart(TEXT)]), ModelResponse(parts=[TextPart(TEXT)], model_name="m")]
        return [message for _ in range(count) for message in turn]

    def saved(store: Any, name: str, count: int) -> Any:
        conversation = Conversation(conversation_id=name, messages=turns(count))
        run(store.save(conversation))
        return conversation

    def line(what: str, rounds: int, of: Callable[[Any], Callable[[], float]]) -> Line:
        mine, theirs = in_turns(rounds, *map(of, stores))
        assert mine is not None
        assert theirs is not None
        beside = f"the time of InMemoryConversationStore ({theirs * 1e3:.2f} ms)"
        return Line(what, f"{mine * 1e3:.2f} ms", beside, mine / theirs)

    def turn(name: str, count: int) -> Callable[[Any], Callable[[], float]]:
        def of(store: Any) -> Callable[[], float]:
            conversation = saved(store, name, count)

            def save() -> float:
                conversation.messages += turns(1)
                return timed(lambda: run(store.save(conversation)))

            return save

        return of

    yield line("pydantic-ai: save a turn", 100, turn("short", 1))
    yield line(f"save a turn behind {_MANY:,} turns", 100, turn("long", _MANY))
    for store in stores:
        saved(store, "all", _LONG // 2)
    yield line(f"load {_LONG:,} messages", 5, lambda store: lambda: timed(lambda: run(store.load("all"))))
    yield line("load the last 20", 50, lambda store: lambda: timed(lambda: run(store.load("all", limit=20))))
    ours.close()
