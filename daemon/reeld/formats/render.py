"""Rendering: a conversation as the body of a request, in the words of any provider.

The one entry point for the daemon is :func:`render`. A format is a :class:`~reeld.formats.format.Dialect`.
"""

from collections.abc import Callable, Sequence

from reel.blocks import InvalidRecord
from reel.errors import Conflict, InvalidParams
from reel.msgpack_codec import unpack
from reel.records import parse_data, system_text
from reel.strict_json import parse
from reeld.core.events import Entry
from reeld.formats.anthropic import DIALECT as ANTHROPIC
from reeld.formats.anthropic.request import load as load_anthropic
from reeld.formats.anthropic.response import read as read_anthropic
from reeld.formats.arguments import is_sendable
from reeld.formats.body import Rendered, RenderRequest, Tail, assemble
from reeld.formats.fields import Loaded, Response
from reeld.formats.format import Dialect, Page, Prompt, Settings
from reeld.formats.gemini import DIALECT as GEMINI
from reeld.formats.gemini.request import load as load_gemini
from reeld.formats.gemini.response import read as read_gemini
from reeld.formats.jsonbytes import encode
from reeld.formats.model import Json
from reeld.formats.openai_chat import DIALECT as OPENAI_CHAT
from reeld.formats.openai_chat.request import load as load_openai_chat
from reeld.formats.openai_chat.response import read as read_openai_chat
from reeld.formats.openai_responses import DIALECT as OPENAI_RESPONSES
from reeld.formats.openai_responses.request import load as load_openai_responses
from reeld.formats.openai_responses.response import read as read_openai_responses
from reeld.formats.render_state import RenderState
from reeld.formats.repair import PLACEHOLDER_TURN, Repaired, Round, repair
from reeld.formats.report import Change
from reeld.formats.roll import Roll

FORMATS: dict[str, Dialect] = {
    "openai-chat": OPENAI_CHAT,
    "openai-responses": OPENAI_RESPONSES,
    "anthropic": ANTHROPIC,
    "gemini": GEMINI,
}
LOADERS: dict[str, Callable[[Json, str | None], Loaded]] = {
    "openai-chat": load_openai_chat,
    "openai-responses": load_openai_responses,
    "anthropic": load_anthropic,
    "gemini": load_gemini,
}
READERS: dict[str, Callable[[Json, str | None], Response]] = {
    "openai-chat": read_openai_chat,
    "openai-responses": read_openai_responses,
    "anthropic": read_anthropic,
    "gemini": read_gemini,
}
# So many messages are unpacked at once: few enough that what is done with is freed before the garbage collector looks.
_AT_ONCE = 500


def render(
    asked: RenderRequest, entries: Sequence[Entry], prompt: Entry | None = None, kept: RenderState | None = None
) -> tuple[Rendered, RenderState]:
    """Render a conversation.

    Args:
        asked: how.
        entries: its entries, as the living list has them.
        prompt: the system event in force.
        kept: what an earlier rendering of this conversation handed out, whatever was asked then. It is used up.

    Returns:
        what was rendered, and what to keep for the next time.

    Raises:
        InvalidParams: the format is unknown, or ``extra`` cannot be had, on its own or with this history.
        Conflict: there are open calls, and they are to be refused.
        TooLarge: not even the newest turn fits the budget.
    """
    dialect = _dialect(asked.format)
    extra = _extra(asked, dialect)
    model = extra.get("model", asked.model)
    said = _prompt(prompt)
    settings = dialect.settings(extra, said)
    stale = None
    if kept is None or not kept.fits(asked.format, model, settings.marks) or not kept.covers(entries):
        stale, kept = kept, RenderState(asked.format, model, settings.marks)
    repaired, last = _extend(kept, entries, dialect, settings)
    if asked.open == "refuse" and repaired.open_calls:
        calls = [call.as_map() for call in repaired.open_calls]
        raise Conflict(f"{len(calls)} calls have no result; add them, or render with open=close", open_calls=calls)
    if (why := dialect.objection(extra, repaired.loop)) is not None:
        raise InvalidParams(f"extra: {why}", field="extra")
    ready = _is_ready(repaired, dialect)
    return assemble(asked, dialect, extra, said, kept, last, ready=ready, stale=stale), kept


def _is_ready(repaired: Repaired, dialect: Dialect) -> bool:
    """Tell whether there is something to answer: the user's words, results, or a turn that a server's tool paused."""
    if not repaired.spoken:
        return bool(repaired.open)
    pieces = repaired.open[-1].assistant.pieces
    if not dialect.pauses or not pieces or pieces[-1].block["type"] != "opaque":
        return False
    pair = dialect.pair(pieces[-1].block)
    return pair is not None and pair.is_call


def _dialect(name: str) -> Dialect:
    dialect = FORMATS.get(name)
    if dialect is None:
        raise InvalidParams(f"format: expected one of {', '.join(FORMATS)}, got {name!r}", field="format")
    return dialect


def _extra(asked: RenderRequest, dialect: Dialect) -> Json:
    """Read ``extra``, and see that it takes nothing from the conversation."""
    extra = asked.extra or {}
    if isinstance(extra, str):
        try:
            extra = parse(extra)
        except (ValueError, RecursionError) as error:
            raise InvalidParams(f"extra: no JSON: {error}", field="extra") from None
    if not isinstance(extra, dict) or not is_sendable(extra):
        raise InvalidParams("extra: expected a map of what JSON can carry", field="extra")
    try:
        encode(extra)
    except UnicodeEncodeError:
        raise InvalidParams("extra: a text in it has half a character (a lone surrogate)", field="extra") from None
    for key in extra:
        if key in dialect.owned:
            raise InvalidParams(f"extra.{key}: that is for the conversation to say; add it there", field=f"extra.{key}")
    named = extra.get("model")
    if named is not None and (not isinstance(named, str) or asked.model not in (None, named)):
        raise InvalidParams(f"extra.model: {named!r} is not the model {asked.model!r} that is asked for", field="extra")
    return extra


def _prompt(entry: Entry | None) -> Prompt | None:
    text = system_text(entry.content) if entry else None
    if entry is None or text is None or not text.strip():
        return None
    try:
        data = parse_data(entry.data_json or "{}")
    except InvalidRecord:
        data = {}
    return Prompt(text, entry.seq, data)


def _extend(kept: RenderState, entries: Sequence[Entry], dialect: Dialect, settings: Settings) -> tuple[Repaired, Tail]:
    """Render what is new: keep what is settled of it, and give the open last turn."""
    repaired = _settle_all(kept, entries, dialect)
    page, last = Page(kept.model, kept.marks_left), Tail(Roll(), [])
    _write(repaired.open[:-1], last.roll, last.report, page, dialect)
    page.thinking = settings.thinking or not repaired.spoken
    _write(repaired.open[-1:], last.roll, last.report, page, dialect)
    if repaired.open and not repaired.spoken and not kept.roll.count and not last.roll.count:
        seq = repaired.open[-1].seq
        last.roll.add(dialect.entries(PLACEHOLDER_TURN, page), seq, is_user=True, begins=True)
        last.report.append(Change(seq, None, "synthesized", "there must be something to answer"))
    return repaired, last


def _settle_all(kept: RenderState, entries: Sequence[Entry], dialect: Dialect) -> Repaired:
    """Repair in steps, and give what the last one found; what does not settle is not looked at over and over."""
    step = _AT_ONCE
    while kept.count + step < len(entries):
        before = kept.count
        _settle(kept, entries[before : before + step], dialect)
        step = _AT_ONCE if kept.count > before else 2 * step
    return _settle(kept, entries[kept.count :], dialect)


def _settle(kept: RenderState, news: Sequence[Entry], dialect: Dialect) -> Repaired:
    """Repair what comes after what is kept, and keep what is settled of it."""
    told = [(entry.id, entry.message) for entry in news if entry.message is not None]
    repaired = repair([unpack(message) for _, message in told], kept.memory, dialect, kept.model)
    page = Page(kept.model, kept.marks_left)
    _write(repaired.settled, kept.roll, kept.report, page, dialect)
    kept.marks_left = page.marks
    if repaired.messages:
        kept.last, _ = told[repaired.messages - 1]
        kept.count += 1 + next(index for index, entry in enumerate(news) if entry.id == kept.last)
    return repaired


def _write(rounds: Sequence[Round], roll: Roll, report: list[Change], page: Page, dialect: Dialect) -> None:
    for found in rounds:
        begins = not found.user.answers and bool(found.user.said)
        page.report = found.report
        roll.add(dialect.entries(found.user, page), found.seq, is_user=True, begins=begins)
        said = dialect.entries(found.assistant, page)
        roll.add(said, found.seq, is_user=False, begins=bool(said) and not found.goes_on)
        report += found.report
