"""Defines a format: one value that holds everything the rest of the package knows about a provider's API.

:mod:`~reeld.formats.repair` asks it what the API accepts, :mod:`~reeld.formats.render` has it write one turn at a
time, :mod:`~reeld.formats.ingest` has it read requests and responses. All its functions are pure: their result depends
only on their arguments. To add a format, write a package with a ``FORMAT`` and name it in
:mod:`reeld.formats.table`; no other format has to change.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reel.providers.changes import Action
from reeld.formats.fields import LoadedRequest, Response
from reeld.formats.model import HistorySettings, RenderContext, Turn, is_thought
from reeld.formats.naming import sent_id
from reeld.formats.tool_names import ToolNames
from reeld.formats.turn_order import AfterCalls

# Where a block is: in a message of a role, in a tool's result, or in a failed result, for which APIs have different
# rules.
Position: TypeAlias = Literal["user", "assistant", "result", "failed_result"]
IN_RESULTS: tuple[Position, ...] = ("result", "failed_result")
# A report about the top of a body: an action and its reason.
Notice: TypeAlias = tuple[Action, str]


class ServerToolHalf(NamedTuple):
    """One half of a tool call that the provider ran itself: the call or its result. Neither is sent without the other.

    Args:
        key: the key shared by both halves.
        is_call: whether it is the call.
    """

    key: str
    is_call: bool


class Prompt(NamedTuple):
    """The system prompt in force: its text, and its event's data, which may hold a provider's own form of it."""

    text: str
    seq: int
    data: Json


class PromptPart(NamedTuple):
    """A converted prompt: keys at the top of the body, and leading items of the history list."""

    fields: Json
    items: list[Json]


class LoopThinking(NamedTuple):
    """Whether the first and the last step of the tool loop that a history ends in begin with thinking."""

    first: bool
    last: bool


class Caching(NamedTuple):
    """Cache breakpoints, for a provider whose requests mark the ends of the cache.

    Args:
        most: how many a body may have.
        count: the number of breakpoints of some content, if it is a list of blocks.
        newest: content with only a number of them, the newest.
        own: the number of those of a body that belong to the caller: at its top, and of its tools.
        mark_top: a body without its history, with breakpoints where they are useful, for a time to live and a model.
        mark_end: an item with one at its end, for a time to live and a model; ``None`` if it can have none.
    """

    most: int
    count: Callable[[Any], int]
    newest: Callable[[list[Any], int], list[Any]]
    own: Callable[[Json], int]
    mark_top: Callable[[Json, str, str | None], Json]
    mark_end: Callable[[Json, str, str | None], Json | None]

    def keep_newest(self, item: Json, number: int) -> Json:
        """Return an item with only a number of its breakpoints, the newest."""
        return {**item, "content": self.newest(item["content"], number)}

    def unmarked(self, found: Any) -> Any:
        """Return the prompt, or what declares the tools, without breakpoints; of an object, only the tools in it."""
        tools = found.get("tools") if type(found) is dict else found
        return self.newest(tools, 0) if type(tools) is list else found

    def fit_top(self, fields: Json) -> tuple[Json, int, int]:
        """Leave out the excess breakpoints of the prompt.

        Args:
            fields: the body without its history.

        Returns:
            the fields, how many breakpoints were left out, and how many are left for the history.
        """
        room, found = max(self.most - self.own(fields), 0), self.count(fields.get("system"))
        if found > room:
            fields = {**fields, "system": self.newest(fields["system"], room)}
        return fields, max(found - room, 0), max(room - found, 0)


def _nothing(_block: Json) -> None:
    return None


class Format(NamedTuple):
    """A format.

    Args:
        name: its name in the protocol; for a dialect, the dialect's name follows after a slash.
        provider: whose signatures and opaque blocks it accepts, such as ``openai``.
        history_key: the key of the body that holds the history: a list of items (messages, input items, contents).
        reserved_keys: the keys of the body that only the conversation may fill, ``history_key`` among them.
        why_unsendable: why this model refuses a block in this position; ``None`` if it does not. Never asked about
            blank texts, calls and results.
        write_turn: converts a turn to items. The results of a user turn come first.
        write_prompt: converts the prompt.
        tool_names: where ``extra`` has the names of tools.
        read_request: the messages of a request body; the model wrote the assistant's if the body names none.
        read_response: the message of a response body; the model answered if the body names none. ``None`` if
            conversations are only exchanged in this format, and no provider answers in it.
        tools_key: the key of the body that holds the tools.
        defaults: keys for the top of the body, unless ``extra`` has them.
        has_model: whether the body names the model.
        unsent_keys: the keys of ``extra`` that are not part of the body, such as a model that is in the URL.
        signed_in: the dialect, if only that reads what is signed in it.
        any_signature: whether it can hold any provider's signatures, as any provider may be the final recipient.
        why_undeclared: why a block is not sent in a request that declares only these features (``HistorySettings``).
        betas: the names of betas that a body with such ``extra`` and features needs, for its header.
        betas_key: the key of the body that has these, if the API takes no such header.
        begins_anew: the items of a turn from a summary of everything before it on; ``None`` if it has none. Only these
            are sent, and what follows.
        keeps_messages: whether a summary in a turn leaves the user's messages before it as they were, given whether the
            assistant said nothing before.
        binds_thinking: whether a model binds its thinking to everything before it, so that it is not sent behind
            something else; not if a request (``extra``) leaves that to the API.
        sends_settings: whether a message without words is sent to a model, because it has settings beside them.
        alternates: whether user and assistant must take turns, the user first (rules A1 and G1). An empty turn
            then gets a placeholder (rule X11).
        after_calls: what may follow a call in a turn (rule A2).
        results_first: whether nothing may come between a turn's calls and their results.
        must_precede_content: whether a block belongs to the one after it, and so cannot be the last of a turn; thinking
            is one nearly everywhere.
        belongs_to_next: whether a message of the assistant's is only the beginning of the one after it.
        requires_reasoning: whether a block of the assistant's cannot be sent unchanged without the reasoning before it.
        server_tool_half: which half of a server's tool call an opaque block is that ``why_unsendable`` accepts.
        server_tools_span: whether the result of a server's tool may come in a later turn than its call (rule A11).
        made_by_tool: the key of the call of a server's tool whose program made a call; ``None`` if none did.
        unique_ids: the ids of an opaque block of the assistant's that must be unique in a history.
        call_item_ids: likewise, the ids of the item that a call was kept as.
        history_settings: the settings that ``extra``, the prompt and the model impose on the history.
        why_invalid: why ``extra`` cannot be sent to a model, with a history that ends in such a tool loop (``None``: in
            none).
        caching: its cache breakpoints; ``None`` if it has none, or ignores where they are.
        server_state: state in an assistant's message that the next request must name at the top, such as a container;
            ``None`` if there never is any.
        continue_state: the top of a body that names such a state, at a time in seconds since 1970, and what is reported
            about it: an action and its reason.
        resumable: whether a turn that ends in a call of a server's tool is sent unchanged, to be continued.
        sent_id: the id under which a call is sent, by its own id, the ids in use, and the seq and number of its block.
        dialects: the names of its dialects: servers with this API differ in what they accept.
        in_dialect: the format in a dialect, by the dialect's name and the model's; without a name, in the dialect that
            the model's name implies. ``None`` if it has no dialects.
    """

    name: str
    provider: str
    history_key: str
    reserved_keys: frozenset[str]
    why_unsendable: Callable[[Json, Position, str | None], str | None]
    write_turn: Callable[[Turn, RenderContext], list[Json]]
    write_prompt: Callable[[Prompt, RenderContext], PromptPart]
    tool_names: ToolNames
    read_request: Callable[[Json, str | None], LoadedRequest]
    read_response: Callable[[Json, str | None], Response] | None
    tools_key: str = "tools"
    defaults: Mapping[str, Any] = MappingProxyType({})
    has_model: bool = True
    unsent_keys: frozenset[str] = frozenset()
    signed_in: str | None = None
    any_signature: bool = False
    why_undeclared: Callable[[Json, frozenset[str]], str | None] = lambda _block, _declared: None
    betas: Callable[[Json, frozenset[str]], list[str]] = lambda _extra, _declared: []
    betas_key: str | None = None
    begins_anew: Callable[[list[Json]], list[Json] | None] = lambda _items: None
    keeps_messages: Callable[[Turn, bool], bool] = lambda _turn, _is_first: False
    binds_thinking: Callable[[str | None, Json], bool] = lambda _model, _extra: False
    sends_settings: Callable[[Json, str | None], bool] = lambda _message, _model: False
    alternates: bool = False
    after_calls: AfterCalls = "calls"
    results_first: bool = True
    must_precede_content: Callable[[Json], bool] = is_thought
    belongs_to_next: Callable[[Json], bool] = lambda _message: False
    requires_reasoning: Callable[[Json], bool] = lambda _block: False
    server_tool_half: Callable[[Json], ServerToolHalf | None] = _nothing
    server_tools_span: bool = True
    made_by_tool: Callable[[Json], str | None] = _nothing
    unique_ids: Callable[[Json], tuple[str, ...]] = lambda _block: ()
    call_item_ids: Callable[[Json], tuple[str, ...]] = lambda _block: ()
    history_settings: Callable[[Json, Prompt | None, str | None], HistorySettings] = lambda _extra, _prompt, _model: (
        HistorySettings()
    )
    why_invalid: Callable[[Json, LoopThinking | None, str | None], str | None] = lambda _extra, _loop, _model: None
    caching: Caching | None = None
    server_state: Callable[[Json], Json | None] | None = None
    continue_state: Callable[[Json, Json, float], tuple[Json, Notice | None]] = lambda extra, _state, _now: (
        extra,
        None,
    )
    resumable: bool = False
    sent_id: Callable[[str, Mapping[str, None], int, int], str] = sent_id
    dialects: tuple[str, ...] = ()
    in_dialect: Callable[[str | None, str | None], "Format"] | None = None

    def is_server_tool(self, block: Json) -> bool:
        """Whether a block is the call of a server's tool, or its result."""
        return block["type"] == "opaque" and self.server_tool_half(block) is not None
