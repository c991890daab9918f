"""ChatGPT: the export of an account. Each conversation is a tree of messages, of which one branch is current."""

from collections.abc import Iterator, Mapping

from reel.base.strict_json import Json, encode
from reel.importing.sources.exports import Files, export_tool
from reel.importing.steps import About, Back, Counts, Kept, Part, Problem, Said, Source, Step
from reel.importing.tools.chatgpt.images import Images
from reel.importing.tools.chatgpt.messages import PROVIDER, Message, left_out_of, read_message
from reel.importing.values import (
    digest,
    id_in_name,
    list_in,
    map_in,
    milliseconds,
    other_fields,
    tags_of,
    text_in,
    title_of,
)
from reel.providers.blocks import text as text_block
from reel.providers.blocks import tool_result
from reel.providers.content import shortest

_NAME = "chatgpt"
_FIRST_KEYS = ("title", "id", "conversation_id", "create_time", "mapping")
_CONVERSATION_FIELDS = frozenset({*_FIRST_KEYS, "current_node", "default_model_slug", "gizmo_id"})
# The keys of a node without a message.
_EMPTY_KEYS = {"id", "message", "parent", "children"}


class _Conversation:
    """A conversation of an export.

    Args:
        found: the conversation.
        source: the export.
        counts: counts its messages.
        images: the images that it refers to.
    """

    def __init__(self, found: Json, source: Source, counts: Counts, images: Images) -> None:
        self._found = found
        self._images = images
        self._source = source
        self._counts = counts
        self._nodes = {key: node for key, node in map_in(found, "mapping").items() if type(node) is dict}
        # The message that represents each node: its own, or the last one before it; empty for the beginning.
        self._places: dict[str, str] = {}
        # The calls without a result on the way to each node.
        self._open: dict[str, tuple[Json, ...]] = {}
        # The last message, pending because more may belong to it, and the node that it ends with.
        self._waiting: Said | None = None
        self._last = ""
        self._said = False

    def steps(self) -> Iterator[Step]:
        """Yield the branches, the current one last."""
        yield About(f"/{id_in_name(self._id())}", title_of(text_in(self._found, "title")), self._tags())
        self._counts.left_out.update(other_fields(self._found, _CONVERSATION_FIELDS))
        for key, node in map_in(self._found, "mapping").items():
            if key not in self._nodes:
                self._counts.note("not an object")
                yield Kept("note", key, None, {_NAME: encode({"node": node})}, None)
        for key, parent in walk(self._nodes, text_in(self._found, "current_node")):
            yield from self._read(key, self._nodes[key], parent)
        yield from self._flush()
        if missing := self._images.missing:
            what = f"conversation {self._id()}: images that are not in the export, but for their names: {missing:,}"
            self._counts.problem(Problem(self._source.path, 0, what))

    def _id(self) -> str:
        for key in ("conversation_id", "id"):
            if given := text_in(self._found, key):
                return given
        return digest(encode(self._found, ascii_only=True))

    def _tags(self) -> dict[str, str]:
        models = [text_in(map_in(map_in(node, "message"), "metadata"), "model_slug") for node in self._nodes.values()]
        model = text_in(self._found, "default_model_slug") or next(filter(None, reversed(models)), "")
        gpt = text_in(self._found, "gizmo_id")
        return tags_of(tool=_NAME, source=self._source.path, model=model, gpt=gpt)

    def _read(self, key: str, node: Json, parent: str) -> Iterator[Step]:
        before = self._places.get(parent, "")
        self._places[key], self._open[key] = before, self._open.get(parent, ())
        found = map_in(node, "message")
        if not found and node.keys() <= _EMPTY_KEYS:
            self._counts.ignore("empty")
            return
        if not found:
            self._counts.note("node without a message")
            yield Kept("note", key, None, {_NAME: encode(node)}, None)
            return
        self._counts.left_out.update(other_fields(node, _EMPTY_KEYS))
        self._images.begin(self._waiting)
        message, sent = read_message(found, self._images.block), milliseconds(found.get("create_time"))
        if message.unknown:
            self._counts.note(message.unknown)
        elif message.role in ("note", "user", "assistant", "tool", "system"):
            self._counts.map()
            self._counts.left_out.update(left_out_of(found) if message.role != "note" else ())
        else:
            self._counts.ignore(message.role)
            return
        if message.role == "note":
            yield Kept("note", key, None, {_NAME: encode(found)}, sent)
            return
        self._places[key] = key
        yield from self._say(key, parent, before, message, found)

    def _say(self, key: str, parent: str, before: str, message: Message, found: Json) -> Iterator[Step]:
        said = self._said_by(key, before, message, found)
        if before == self._last and self._waiting is not None and self._is_only_child(parent):
            joined = _joined(self._waiting, said)
            if joined is not None:
                # A result joined from several messages has the id of the first one.
                self._last = self._places[key] = joined.parts[-1].ref
                self._waiting = joined
                return
        yield from self._flush()
        if before != self._last:
            yield Back(before)
        self._waiting, self._last, self._said = said, key, True

    def _said_by(self, key: str, before: str, message: Message, found: Json) -> Said:
        role, blocks, metadata = message.role, message.blocks, {"provider": PROVIDER}
        sent = milliseconds(found.get("create_time"))
        if role == "assistant":
            if model := text_in(map_in(found, "metadata"), "model_slug"):
                metadata["model"] = model
            self._open[key] += tuple(block for block in blocks if block["type"] == "tool_call")
            return Said(role, (Part(key, blocks),), metadata, sent)
        if role == "tool":
            call = self._answered(key, message.name, before)
            if call is not None:
                return Said(
                    role, (Part(key, [tool_result(call["id"], shortest(blocks), failed=message.failed)]),), {}, sent
                )
        if role == "system" and not self._said:
            return Said(role, (Part(key, blocks),), {}, sent)
        if role == "user":
            self._open[key] = ()
        kept = {**metadata, "role": role, **({"name": message.name} if message.name else {})} if role != "user" else {}
        return Said("user", (Part(key, blocks),), kept, sent)

    def _answered(self, key: str, name: str, before: str) -> Json | None:
        """Return the last call that a tool answers, and remove it from those without a result."""
        family = name.partition(".")[0]
        for call in reversed(self._open[key]):
            if not name or call["name"].partition(".")[0] == family:
                self._open[key] = tuple(other for other in self._open[key] if other is not call)
                return call
        if self._waiting is not None and self._waiting.role == "tool" and before == self._last:
            return {"id": self._waiting.parts[0].blocks[0]["tool_call_id"]}
        return None

    def _is_only_child(self, parent: str) -> bool:
        return len(list_in(self._nodes.get(parent), "children")) <= 1

    def _flush(self) -> Iterator[Step]:
        if self._waiting is not None:
            yield self._waiting
            self._waiting = None


def walk(nodes: Mapping[str, Json], current: str) -> Iterator[tuple[str, str]]:
    """Yield every node of a tree once, each with its predecessor; the current branch comes last."""
    children: dict[str, list[str]] = {}
    for key, node in nodes.items():
        parent = text_in(node, "parent")
        children.setdefault(parent if parent in nodes else "", []).append(key)
    path = set[str]()
    while current in nodes and current not in path:
        path.add(current)
        current = text_in(nodes[current], "parent")
    done = set[str]()
    # Nodes that follow themselves, in damaged files, are reached from no root.
    for start in ("", *nodes):
        stack = [(start, "")] if start else _in_order(children.get("", []), "", path)
        while stack:
            key, parent = stack.pop()
            if key not in done:
                done.add(key)
                yield key, parent
                stack += _in_order(children.get(key, []), key, path)


def _in_order(keys: list[str], parent: str, path: set[str]) -> list[tuple[str, str]]:
    """Order nodes so that the last one, which is processed first, is the first one beside the current branch."""
    return [(key, parent) for key in sorted(keys, key=path.__contains__)[::-1]]


def _joined(before: Said, said: Said) -> Said | None:
    """Join two messages if they are consecutive ones of the assistant, or results of the same call."""
    if before.role != said.role:
        return None
    if said.role == "assistant":
        return before._replace(parts=before.parts + said.parts, metadata={**before.metadata, **said.metadata})
    if said.role != "tool":
        return None
    (first,), (second,) = before.parts[-1].blocks, said.parts[0].blocks
    if first["tool_call_id"] != second["tool_call_id"]:
        return None
    blocks = [
        block
        for result in (first, second)
        for block in (result["content"] if type(result["content"]) is list else [text_block(result["content"])])
    ]
    failed = first["is_error"] or second["is_error"]
    return before._replace(parts=(Part(before.parts[0].ref, [{**first, "content": blocks, "is_error": failed}]),))


def _is_conversation(found: Json) -> bool:
    return type(found.get("mapping")) is dict


def steps_of(found: Json, source: Source, counts: Counts, files: Files) -> Iterator[Step]:
    """Yield the steps of a conversation, and count its messages."""
    return _Conversation(found, source, counts, Images(files, source, counts)).steps()


TOOL = export_tool(_NAME, "ChatGPT", sign="mapping", first_keys=_FIRST_KEYS, accepts=_is_conversation, read=steps_of)
