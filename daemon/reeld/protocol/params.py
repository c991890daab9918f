"""The parameters of each method, declared once: the wire, the handler and the store take the same class.

The type of a field has its converter (:mod:`reeld.protocol.converters`). A field with a default may be left out, and
null counts as left out. The order of the fields is that of positional parameters.
"""

from typing import Annotated, Any, Literal, TypeAlias

from reel.base.light_typing import NamedTuple
from reel.said.formats import ANSWERING_FORMATS, DIALECTS, FORMATS
from reeld.core.validation import LAST_TIME
from reeld.protocol import converters as to

PAGE_ITEMS = 1000
PAGE_BYTES = 8 << 20
# Hits of a page of a search, by default and at most.
HITS, MAX_HITS = 20, 1000
# Edits of a page, by default and at most.
EDITS, MAX_EDITS = 50, 1000
# Characters of a snippet, by default and at most.
SNIPPET, MAX_SNIPPET = 240, 4096
# How long a search waits at most for the index, in milliseconds.
MAX_CATCHING_UP = 10_000
# How long a `wait` lasts by default, and at most, in milliseconds.
WAIT, MAX_WAIT = 30_000, 3_600_000

_Flag: TypeAlias = Annotated[bool, to.boolean]
_Seq: TypeAlias = Annotated[int, to.integer()]
_Time: TypeAlias = Annotated[int, to.integer(0, LAST_TIME)]
_Place: TypeAlias = Annotated[int, to.integer(1)]
_Items: TypeAlias = Annotated[int, to.integer(1, to.MAX_ITEMS)]
_Bytes: TypeAlias = Annotated[int, to.page_bytes]
_Text: TypeAlias = Annotated[str, to.free_text]
_String: TypeAlias = Annotated[str, to.string]
_Strings: TypeAlias = Annotated[list[str], to.strings]
_Name: TypeAlias = Annotated[str, to.name]
_Label: TypeAlias = Annotated[str, to.label]
_Title: TypeAlias = Annotated[str, to.title]
_Tags: TypeAlias = Annotated[dict[str, str], to.tags]
# In which order hits come.
_Order: TypeAlias = Annotated[Literal["newest", "best", "fresh"], to.one_of("newest", "best", "fresh")]
# Where a page of a search ended: an id, and what else its order needs.
_Cursor: TypeAlias = Annotated[tuple[int, ...], to.cursor(1, 3)]
# Where a page of edits ended: a time, an event, and a place in it.
_EditCursor: TypeAlias = Annotated[tuple[int, ...], to.cursor(4, 4)]
_Directories: TypeAlias = Annotated[list[str], to.directories]
_Addresses: TypeAlias = Annotated[list[str], to.addresses]
_CatchingUp: TypeAlias = Annotated[int, to.integer(0, MAX_CATCHING_UP)]
_Messages: TypeAlias = Annotated[Any, to.messages]
_ToolNames: TypeAlias = Annotated[dict[str, str], to.tool_names]
_Prefix: TypeAlias = Annotated[dict[str, Any], to.prefix]
_Kinds: TypeAlias = Annotated[list[str], to.kinds]
_Paths: TypeAlias = Annotated[list[str], to.absolute_paths]
# What the handler checks itself.
_Unchecked: TypeAlias = Annotated[Any, to.anything]
_Map: TypeAlias = Annotated[dict[str, Any], to.any_map]
_Format: TypeAlias = Annotated[str, to.one_of(*FORMATS)]
# One in which a provider answers.
_Answering: TypeAlias = Annotated[str, to.one_of(*ANSWERING_FORMATS)]
_ItemFormat: TypeAlias = Annotated[str, to.item_format]
_Body: TypeAlias = Annotated[str, to.body]
_View: TypeAlias = Annotated[Literal["messages", "conversation"], to.one_of("messages", "conversation")]
_ReadingView: TypeAlias = Annotated[
    Literal["messages", "conversation", "lines"], to.one_of("messages", "conversation", "lines")
]
_SubscriptionView: TypeAlias = Annotated[
    Literal["messages", "conversation", "none", "lines"], to.one_of("messages", "conversation", "none", "lines")
]


class Nothing(NamedTuple):
    """No parameters of its own."""


class Hello(NamedTuple):
    """What a client says about itself."""

    client: Annotated[dict[str, Any], to.client] | None = None
    protocol: _Map | None = None
    notify: Annotated[list[str], to.target] | None = None
    errors: Annotated[Literal["text", "map"], to.one_of("text", "map")] | None = None


class Create(NamedTuple):
    """A new agent; one without a name gets a short one."""

    agent: _Name | None = None
    system: _Text | None = None
    title: _Title | None = None
    tags: _Tags | None = None


class Add(NamedTuple):
    """Messages, or items of a format; ``from_`` is the seq of the first message that they replace.

    ``tags`` are for an agent that is created. The parameters after ``items`` describe the items. ``if_stands`` is the
    seq of the newest record that they answer.
    """

    messages: _Messages = None
    create: _Flag = False
    from_: _Place | None = None
    tags: _Tags | None = None
    items: _Unchecked = None
    format: _ItemFormat | None = None
    model: _Label | None = None
    refs: _Unchecked = None
    sent: _Unchecked = None
    if_stands: _Seq | None = None


class Append(NamedTuple):
    """A stretch of a log."""

    events: Annotated[list[Any], to.events]


class Clone(NamedTuple):
    """The seq at which an agent is cloned, the name of the clone or the agent that takes over the state, and when."""

    name: _Name | None = None
    at: _Seq | None = None
    into: _String | None = None
    sent: _Time | None = None


class Mark(NamedTuple):
    """The label of a mark."""

    label: _Label | None = None


class Restore(NamedTuple):
    """The seq to go back to."""

    at: _Seq


class Kill(NamedTuple):
    """Why an agent is killed, and whether its clones are, too."""

    reason: _Title | None = None
    cascade: _Flag = False


class Revive(NamedTuple):
    """Whether the clones of an agent are revived, too."""

    cascade: _Flag = False


class Change(NamedTuple):
    """New values of what an agent is called."""

    name: _Name | None = None
    title: _Title | None = None
    tags: _Tags | None = None


class Commit(NamedTuple):
    """The commands that are carried out together."""

    parts: Annotated[list[Any], to.parts]


class Redact(NamedTuple):
    """The seqs, or the texts, that are erased."""

    seqs: Annotated[list[int], to.seqs] | None = None
    text: Annotated[list[str], to.texts] | None = None
    dry_run: _Flag = False
    backups: _Paths | None = None


class Prune(NamedTuple):
    """The seq, or the time, before which a log is pruned; and what a program needs that keeps records in it."""

    before: _Seq | None = None
    until: Annotated[int, to.integer(0)] | None = None
    dry_run: _Flag = False
    keep: Annotated[list[int], to.many_seqs] | None = None
    records: Annotated[dict[int, str], to.records] | None = None
    gone: Annotated[list[list[int]], to.stretches] | None = None


class Purge(NamedTuple):
    """What is removed beside an agent: killed clones, all clones, other agents; and from which backups."""

    cascade: _Flag = False
    force: _Flag = False
    dry_run: _Flag = False
    backups: _Paths | None = None
    also: _Addresses | None = None


class Retention(NamedTuple):
    """Whether it is only said what would go, and whether the day after a change of the rules is not waited for."""

    dry_run: _Flag = False
    now: _Flag = False


class Agents(NamedTuple):
    """Which agents are listed, and what of each."""

    prefix: _String = ""
    alive: _Flag | None = None
    limit: _Items = PAGE_ITEMS
    after: _String | None = None
    max_bytes: _Bytes = PAGE_BYTES
    order: Annotated[Literal["created", "updated"], to.one_of("created", "updated")] = "created"
    details: _Flag = False
    query: _Text | None = None
    tags: _Tags | None = None
    state: _Flag = False
    source: _String | None = None
    short: _String | None = None
    without_tag: _Label | None = None
    ids: _Addresses | None = None
    dirs: _Directories | None = None


class Described(NamedTuple):
    """Whether an agent is described that has a tag, or messages of one that has it."""

    without_tag: _Label | None = None


class Messages(NamedTuple):
    """A page of a conversation, current or at a seq, as messages, records, lines or items of a format."""

    since: _Seq | None = None
    limit: _Items | None = None
    last: _Items | None = None
    at: _Seq | None = None
    view: _ReadingView | None = None
    max_bytes: _Bytes | None = None
    format: _ItemFormat | None = None


class Answer(NamedTuple):
    """Whether the last code block of an answer is meant."""

    code: _Flag = False


class History(NamedTuple):
    """A page of a log."""

    since: _Seq = 0
    limit: _Items = PAGE_ITEMS
    kinds: _Kinds | None = None
    inherited: _Flag = False
    max_bytes: _Bytes = PAGE_BYTES
    refs: _Strings | None = None
    last: _Items | None = None
    before: _Place | None = None
    live: _Flag | None = None
    tokens: _Flag = False


class Histories(NamedTuple):
    """A page of the logs of several agents, one after the other; ``since`` is a seq of the first."""

    agents: _Addresses
    since: _Seq = 0
    limit: _Items = PAGE_ITEMS
    kinds: _Kinds | None = None
    max_bytes: _Bytes = PAGE_BYTES
    tokens: _Flag = False


class Gone(NamedTuple):
    """The ids of agents that may have been purged."""

    ids: _Addresses


class State(NamedTuple):
    """A page of an agent's values, current or at a seq."""

    keys: _Strings | None = None
    at: _Seq | None = None
    after: _Label = ""
    limit: _Items = PAGE_ITEMS
    max_bytes: _Bytes = PAGE_BYTES


class Replay(NamedTuple):
    """A page of what is read from the log alone, and whether an unreadable event is an error."""

    at: _Seq | None = None
    view: _View = "messages"
    strict: _Flag = False
    since: _Seq | None = None
    limit: _Items | None = None
    max_bytes: _Bytes | None = None


class Search(NamedTuple):
    """What is searched for, and where."""

    query: _Text
    agent: _String | None = None
    tags: _Tags | None = None
    roles: Annotated[list[str], to.roles] | None = None
    kinds: _Kinds | None = None
    live: _Flag | None = None
    since: _Seq | None = None
    until: _Seq | None = None
    order: _Order | None = None
    limit: Annotated[int, to.integer(1, MAX_HITS)] = HITS
    after: _Cursor | None = None
    dirs: _Directories | None = None
    snippet: Annotated[int, to.integer(1, MAX_SNIPPET)] = SNIPPET
    wait: _CatchingUp = 0
    without_tag: _Label | None = None
    thinking: _Flag = True
    candidates: _Flag = False


class Edits(NamedTuple):
    """What calls did: to which file, in which agents, and what."""

    path: Annotated[str, to.file] | None = None
    agent: _String | None = None
    deed: Annotated[Literal["read", "wrote", "ran"], to.one_of("read", "wrote", "ran")] | None = None
    command: _Label | None = None
    dirs: _Directories | None = None
    without_tag: _Label | None = None
    limit: Annotated[int, to.integer(1, MAX_EDITS)] = EDITS
    after: _EditCursor | None = None
    texts: _Flag = True
    wait: _CatchingUp = 0


class Hits(NamedTuple):
    """What is searched for, a page of it, and the id of the agent that the list has above it."""

    query: _Text
    limit: Annotated[int, to.integer(1, MAX_HITS)] = HITS
    after: _Cursor | None = None
    above: _String | None = None
    order: _Order | None = None
    wait: _CatchingUp = 0


class Render(NamedTuple):
    """How a conversation becomes the body of a request; :class:`reeld.formats.body.RenderRequest` says what each is."""

    format: _Format
    at: _Seq | None = None
    model: _Label | None = None
    extra: Annotated[dict[str, Any] | str, to.extra] | None = None
    budget: _Place | None = None
    open: Annotated[Literal["close", "refuse"], to.one_of("close", "refuse")] = "close"
    pin: _Label | None = None
    after: _Prefix | None = None
    cache: Annotated[Literal["5m", "1h"], to.one_of("5m", "1h")] | None = None
    dialect: Annotated[str, to.one_of(*DIALECTS)] | None = None
    tools: _Strings | None = None
    then: _Messages = None
    upto: _Seq | None = None


class Ingest(NamedTuple):
    """The response of a provider: its body, the requested model, the sent names of tools, and what it answers."""

    format: _Answering
    body: _Body
    model: _Label | None = None
    create: _Flag = False
    names: _ToolNames | None = None
    interrupted: _Flag = False
    prefix: _Prefix | None = None
    if_stands: _Seq | None = None


class Parse(NamedTuple):
    """The response of a provider that is only read; the parameters are those of :class:`Ingest`."""

    format: _Answering
    body: _Body
    model: _Label | None = None
    names: _ToolNames | None = None
    interrupted: _Flag = False


class Load(NamedTuple):
    """A whole request to a provider."""

    format: _Format
    body: _Body
    model: _Label | None = None
    create: _Flag = False


class Wait(NamedTuple):
    """The seq after which events are awaited, of which kinds, and for how long."""

    since: _Seq
    kinds: _Kinds | None = None
    timeout: Annotated[int, to.integer(0, MAX_WAIT)] = WAIT


class Subscribe(NamedTuple):
    """Where a subscription begins, and what its pushes have; ``at`` is for lines."""

    since: _Seq | None = None
    view: _SubscriptionView = "messages"
    kinds: _Kinds | None = None
    time: Annotated[int, to.integer()] | None = None
    at: _Seq | None = None


class Unsubscribe(NamedTuple):
    """The number of a subscription."""

    sub: _Seq


class Draft(NamedTuple):
    """The text that is being typed."""

    text: _Text


class CallAsync(NamedTuple):
    """A call whose answer comes as a push with this token."""

    token: Annotated[int | str, to.token]
    method: _String
    params: _Unchecked = None


class Verify(NamedTuple):
    """The one agent that is checked; all by default."""

    agent: _String | None = None


class Stats(NamedTuple):
    """Whether every connection and agent is described."""

    details: _Flag = False


class Backup(NamedTuple):
    """The path of the new file."""

    path: Annotated[str, to.absolute_path]
