"""Converts messages of all versions of opencode to steps of a conversation."""

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from reel.base.strict_json import Json, encode
from reel.importing.sources.blocks import made_by
from reel.importing.sources.person import FirstWords
from reel.importing.sources.unfinished import UNFINISHED, as_far_as_written
from reel.importing.steps import Again, Back, Compacted, Counts, Kept, Part, Said, Step
from reel.importing.tools.opencode.parts import PROVIDER, given_block, is_empty, left_out_of, made_block, result_block
from reel.importing.values import AS_WRITTEN, as_map, list_in, map_in, milliseconds, other_fields, text_in
from reel.providers.blocks import text as text_block

# A message, its id in the source, and its parts with their ids.
Message: TypeAlias = tuple[Json, str, list[tuple[str, Json]]]

# The prompt that opencode sends in place of the compacted messages; the summary is its answer.
_COMPACTION = "What did we do so far?"
_IGNORED_PARTS = {
    "step-finish": "end of a step",
    "snapshot": "state of files",
    "patch": "state of files",
    "retry": "another try",
}
# The rule for a part whose first words are to come; it stays so if its program was killed, or the request sent again.
_EMPTY = "part without words"
_IGNORED_MESSAGES = {
    "agent-switched": "choice of the agent",
    "model-switched": "choice of the model",
    "location-switched": "choice of the directory",
    "idle": "idle",
}


# The fields of which something is made, or that say where a message belongs.
_FIELDS = frozenset(
    {
        *("id", "sessionID", "role", "type", "time", "text", "files", "content", "summary", "recent", "callID"),
        *("modelID", "providerID", "model", "error", "tokens", "cost"),
        *("command", "output", "shellID", "status", "exit"),
    }
)
_TIME_FIELDS = frozenset({"created", "completed"})


class Messages:
    """The messages of a session, in their order.

    Args:
        counts: counts messages and parts.
        reverted: the id of the first message that the user took back, or an empty string if nothing was taken back.
    """

    def __init__(self, counts: Counts, reverted: str = "") -> None:
        self._counts = counts
        self._reverted = reverted
        # The step back that leaves what was taken back; the messages are deleted one by one, the first one first.
        self._back: Back | None = None
        # What was said by now, and how much that was at the beginning of each message.
        self._refs: list[str] = []
        self._begins: dict[str, int] = {}
        # A prompt to compact, used only if a summary follows, and the first message that is kept then beside that.
        self._compaction: Said | None = None
        self._tail = ""
        self.model = ""
        self.words = FirstWords()

    def read(self, message: Json, ref: str, parts: list[tuple[str, Json]]) -> Iterator[Step]:
        """Read a message.

        Args:
            message: the message; up to version 1 with a role, since version 2 with a type.
            ref: its id in the source.
            parts: up to version 1 its parts, with their ids.
        """
        ident = text_in(message, "id")
        self._begins[ident] = len(self._refs)
        if ident == self._reverted != "" or (self._back is None and ident > self._reverted != ""):
            self._back = self._back_to(len(self._refs))
        role, kind = text_in(message, "role"), text_in(message, "type")
        if role in ("user", "assistant"):
            self._counts.map()
            self._leave(message)
            yield from self._read_parts(message, ref, role, parts)
        elif kind == "compaction" and message.get("status") == "running":
            self._counts.ignore(UNFINISHED)
        elif kind in _READERS:
            self._counts.map()
            self._leave(message)
            yield from getattr(self, _READERS[kind])(message, ref)
        elif kind in _IGNORED_MESSAGES:
            self._counts.ignore(_IGNORED_MESSAGES[kind])
            self.model = text_in(map_in(message, "model"), "id") or self.model
        else:
            self._counts.note(kind or role or "without a type")
            whole = {**message, "parts": [part for _, part in parts]} if parts else message
            yield note(ref, whole, _sent(message))

    def read_unfinished(self, message: Json, ref: str, parts: list[tuple[str, Json]]) -> Iterator[Step]:
        """Read an answer that is not waited for."""
        begin = len(self._refs)
        yield from as_far_as_written(self.read(message, ref, parts))
        self._refs[begin:] = [f"{ref}{AS_WRITTEN}" for ref in self._refs[begin:]]

    def end(self) -> Iterator[Step]:
        """Yield steps that were held back; a prompt to compact waits for its summary, however long that takes."""
        if self._back is not None:
            yield self._back

    def _leave(self, message: Json) -> None:
        self._counts.left_out.update(other_fields(message, _FIELDS))
        self._counts.left_out.update(other_fields(map_in(message, "time"), _TIME_FIELDS, "time."))

    def _say(self, said: Said) -> Said:
        self._refs.append(said.parts[-1].ref)
        return said

    def _back_to(self, said: int) -> Back:
        """Return a step back to where so much was said."""
        return Back(self._refs[said - 1] if said else "")

    def _flush_compaction(self) -> Iterator[Step]:
        if self._compaction is not None:
            yield self._say(self._compaction)
            self._compaction = None

    def _read_parts(self, message: Json, ref: str, role: str, parts: list[tuple[str, Json]]) -> Iterator[Step]:
        self._note_model(message)
        if role == "user":
            yield from self._flush_compaction()
            yield from self._read_prompt(message, parts)
            return
        kept: tuple[str, ...] = ()
        is_summary = message.get("summary") is True and _has_ended(message) and not message.get("error")
        if self._compaction is not None and is_summary:
            if self._tail in self._begins and self._back is None:
                kept = tuple(self._refs[self._begins[self._tail] :])
            yield Compacted(self._say(self._compaction))
            self._compaction = None
        yield from self._flush_compaction()
        begin = len(self._refs)
        yield from self._read_answer(message, ref, parts)
        if kept:
            yield Again(kept)
        if _is_dropped(message, parts) and len(self._refs) > begin:
            yield self._back_to(begin)
            del self._refs[begin:]

    def _read_prompt(self, message: Json, parts: list[tuple[str, Json]]) -> Iterator[Step]:
        sent, said, is_compaction = _sent(message), list[Part](), False
        for ref, part in parts:
            kind = text_in(part, "type")
            if kind == "compaction":
                self._counts.map()
                is_compaction, self._tail = True, text_in(part, "tail_start_id")
                said.append(Part(ref, [text_block(_COMPACTION)]))
            elif kind in _IGNORED_PARTS:
                self._counts.ignore(_IGNORED_PARTS[kind])
            elif is_empty(part):
                self._counts.ignore(_EMPTY)
            elif kind in ("text", "file", "agent", "subtask"):
                self._counts.map()
                self._counts.left_out.update(left_out_of(part))
                said.append(Part(ref, [given_block(part)]))
            else:
                self._counts.note(f"part/{kind}")
                yield note(ref, part, sent)
        if not said:
            return
        prompt = Said("user", tuple(said), {}, sent)
        texts = [text_in(block, "text") for part in said for block in part.blocks]
        self.words.take(" ".join(filter(None, texts)), by_tool=is_compaction)
        if is_compaction:
            self._compaction = prompt
        else:
            yield self._say(prompt)

    def _read_answer(self, message: Json, ref: str, parts: list[tuple[str, Json]]) -> Iterator[Step]:
        """Read an answer: the model's output, and after each step the results of its tools."""
        sent, provider = _sent(message), self._provider(message)
        said, results = list[Part](), list[Part]()
        for part_ref, part in parts:
            kind = text_in(part, "type")
            if kind == "step-start":
                self._counts.ignore("beginning of a step")
                yield from self._step(said, results, provider, sent)
                said, results = [], []
            elif kind in _IGNORED_PARTS:
                self._counts.ignore(_IGNORED_PARTS[kind])
            elif is_empty(part):
                self._counts.ignore(_EMPTY)
            elif kind in ("text", "file", "reasoning", "tool"):
                self._counts.map()
                self._counts.left_out.update(left_out_of(part))
                said.append(Part(part_ref, [made_block(part, provider, self.model)]))
                if (result := result_block(part)) is not None:
                    results.append(Part(f"{part_ref}/result", [result]))
            else:
                self._counts.note(f"part/{kind}")
                yield note(part_ref, part, sent)
        yield from self._step(said, results, provider, sent)
        if error := map_in(message, "error"):
            yield note(f"{ref}/error", {"error": error}, sent)
        if tokens := map_in(message, "tokens"):
            data: Json = {**made_by(provider, self.model), "usage": tokens}
            if cost := message.get("cost"):
                data["cost"] = cost
            yield Kept("usage", f"{ref}/usage", None, data, sent)

    def _step(self, said: list[Part], results: list[Part], provider: str, sent: int | None) -> Iterator[Step]:
        if said:
            yield self._say(Said("assistant", tuple(said), made_by(provider, self.model), sent))
        if results:
            yield self._say(Said("tool", tuple(results), {}, sent))

    def _note_model(self, message: Json) -> None:
        model = map_in(message, "model")
        self.model = text_in(message, "modelID") or text_in(model, "modelID") or text_in(model, "id") or self.model

    def _provider(self, message: Json) -> str:
        return text_in(message, "providerID") or text_in(map_in(message, "model"), "providerID") or PROVIDER

    def _read_user(self, message: Json, ref: str) -> Iterator[Step]:
        given = [{"type": "file", **as_map(part)} for part in list_in(message, "files")]
        blocks = [text_block(text_in(message, "text")), *map(given_block, given)]
        yield self._say(Said("user", (Part(ref, blocks),), {}, _sent(message)))

    def _read_text(self, message: Json, ref: str) -> Iterator[Step]:
        role = "system" if message.get("type") == "system" else "user"
        yield self._say(Said(role, (Part(ref, [text_block(text_in(message, "text"))]),), {}, _sent(message)))

    def _read_shell(self, message: Json, ref: str) -> Iterator[Step]:
        """Read a shell command of the person, in the form of earlier versions: a call of the shell tool."""
        output = map_in(message, "output").get("output") or message.get("output")
        status = "running" if message.get("status") == "running" else "completed"
        state = {"status": status, "input": {"command": message.get("command")}, "output": output}
        state["metadata"] = {"exit": message.get("exit")}
        call = text_in(message, "callID") or text_in(message, "shellID") or ref
        part: Json = {"type": "tool", "id": call, "name": "bash", "state": state}
        result = result_block(part)
        results = [] if result is None else [Part(f"{ref}/result", [result])]
        yield from self._step([Part(ref, [made_block(part, PROVIDER, "")])], results, PROVIDER, _sent(message))

    def _read_content(self, message: Json, ref: str) -> Iterator[Step]:
        self._note_model(message)
        content = [(f"{ref}/{number}", as_map(part)) for number, part in enumerate(list_in(message, "content"))]
        yield from self._read_answer(message, ref, content)

    def _read_compaction(self, message: Json, ref: str) -> Iterator[Step]:
        texts = [text for key in ("summary", "recent") if (text := text_in(message, key))]
        if not texts:
            yield note(ref, message, _sent(message))
            return
        summary = Said("user", (Part(ref, [text_block(text) for text in texts]),), {}, _sent(message))
        yield Compacted(self._say(summary))


# How a message of version 2 is read, by its type.
_READERS = {
    "user": "_read_user",
    "assistant": "_read_content",
    "system": "_read_text",
    "synthetic": "_read_text",
    "skill": "_read_text",
    "shell": "_read_shell",
    "compaction": "_read_compaction",
}


def is_answer(message: Json) -> bool:
    """Return whether a message is an answer of the model, or of a shell."""
    return "assistant" in (message.get("role"), message.get("type")) or message.get("type") == "shell"


def is_unfinished(message: Json, parts: Iterable[tuple[str, Json]]) -> bool:
    """Return whether a message is an answer that may still be being written, itself or its parts.

    A server may write a session again, message by message: an answer has ended then before its parts are there. They
    end with the end of the step that they begin with.
    """
    if message.get("type") == "shell":
        return message.get("status") == "running"
    if not is_answer(message) or message.get("error"):
        return False
    kinds = [text_in(part, "type") for _, part in parts]
    steps = [kind for kind in kinds if kind in ("step-start", "step-finish")]
    is_bare = "role" in message and not kinds
    return is_bare or steps[-1:] == ["step-start"] or not _has_ended(message)


def _has_ended(message: Json) -> bool:
    return bool(map_in(message, "time").get("completed") or message.get("finish"))


def _is_dropped(message: Json, parts: Iterable[tuple[str, Json]]) -> bool:
    """Return whether an answer failed, or was ended before it said something: opencode does not send it again."""
    error = text_in(map_in(message, "error"), "name")
    says = any(text_in(part, "type") not in ("step-start", "reasoning") for _, part in parts)
    return error != "" and not (error == "MessageAbortedError" and says)


def note(ref: str, found: Any, sent: int | None) -> Kept:
    """Return a note that keeps a record."""
    return Kept("note", f"{ref}/note", None, {"opencode": encode(found)}, sent)


def _sent(message: Json) -> int | None:
    return milliseconds(map_in(message, "time").get("created"))
