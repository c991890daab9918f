"""The top of a body: everything beside its history, which comes from ``extra``, the prompt and the format."""

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json, encode
from reel.providers.changes import Change
from reeld.formats.breakpoints import has_marks, too_many
from reeld.formats.encoded_turns import EncodedTurns, digest
from reeld.formats.format import Format, Prompt, PromptPart
from reeld.formats.history import History
from reeld.formats.model import RenderContext
from reeld.formats.naming import sent_name
from reeld.formats.render_state import RenderState, ServerState
from reeld.formats.tool_names import rename_tools


class Top(NamedTuple):
    """The top of a body.

    Args:
        fields: its keys.
        leading: the items before the history that the prompt became.
        digest: a digest of the prompt and the tools.
        names: the tools that are sent under another name; the keys are the names that are sent.
        betas: what the header of the request declares.
        report: what of the prompt, or of a server's state, was not sent as it is stored.
    """

    fields: Json
    leading: EncodedTurns
    digest: bytes
    names: dict[str, str]
    betas: list[str]
    report: list[Change]


def write_top(
    target: Format,
    extra: Json,
    prompt: Prompt | None,
    state: RenderState,
    server_state: ServerState | None,
    now: float,
) -> Top:
    """Return the top of a body.

    Args:
        target: the format.
        extra: what the caller adds.
        prompt: the system prompt.
        state: the settled turns, of whose calls some may have other names.
        server_state: the newest state that a server keeps.
        now: the time in seconds since 1970.
    """
    names = dict(state.repair.tool_names)
    context = RenderContext(state.model)
    part = _prompt_part(target, prompt, context)
    if server_state is not None:
        extra, notice = target.continue_state(extra, server_state.value, now)
        if notice is not None:
            context.report.append(Change(server_state.seq, None, *notice))
    fields = {**target.defaults, **_with_sent_names(target, extra, names), **part.fields}
    if (betas := target.betas(extra, state.settings.declared)) and target.betas_key is not None:
        fields = {target.betas_key: betas, **fields}
    if target.has_model and state.model is not None:
        fields = {"model": state.model, **fields}
    leading = EncodedTurns()
    if prompt is not None and part.items:
        leading.add(part.items, prompt.seq, is_user=False, can_begin=False)
    return Top(fields, leading, state.bound_to or _digest(target, fields, part), names, betas, context.report)


def top_digest(target: Format, extra: Json, prompt: Prompt | None, model: str | None) -> bytes:
    """Return a digest of the prompt and the tools as they will be sent, which thinking is bound to besides messages."""
    part = _prompt_part(target, prompt, RenderContext(model))
    return _digest(target, _with_sent_names(target, extra, {}), part)


def mark_top(
    top: Top, target: Format, history: History, prompt: Prompt | None, model: str | None, cache: str | None
) -> tuple[Top, int, str | None]:
    """Limit the cache breakpoints of a body without its history, or place them (rules A7 and A15).

    Args:
        top: the top.
        target: the format.
        history: the history, which may have some.
        prompt: the system prompt.
        model: the model.
        cache: for how long breakpoints last that are placed if there are none; ``None`` to place none.

    Returns:
        the top, how many breakpoints the history may have, and the time to live of those that are placed.
    """
    if target.caching is None:
        return top, 0, None
    own = has_marks(top.fields, target.caching) or history.settled.marked or history.open.marked
    if cache is not None and not own:
        return top._replace(fields=target.caching.mark_top(top.fields, cache, model)), 0, cache
    fields, left_out, room = target.caching.fit_top(top.fields)
    if left_out:
        report = [*top.report, *too_many(left_out, prompt.seq if prompt else None)]
        top = top._replace(fields=fields, report=report)
    return top, room, None


def _prompt_part(target: Format, prompt: Prompt | None, context: RenderContext) -> PromptPart:
    return PromptPart({}, []) if prompt is None else target.write_prompt(prompt, context)


def _digest(target: Format, fields: Json, part: PromptPart) -> bytes:
    """Return a digest of the prompt and the tools, without cache breakpoints and without which tool is to be called."""
    prompt, tools = part.fields, fields.get(target.tools_key)
    if target.caching is not None:
        prompt = {key: target.caching.unmarked(found) for key, found in prompt.items()}
        tools = target.caching.unmarked(tools)
    return digest(encode([prompt, tools]).encode())


def _with_sent_names(target: Format, extra: Json, names: dict[str, str]) -> Json:
    """Return ``extra`` with the names under which tools are sent, and note in ``names`` those that differ."""

    def send(given: str) -> str:
        name = sent_name(given)
        if name != given:
            names[name] = given
        return name

    return rename_tools({key: extra[key] for key in extra if key not in target.unsent_keys}, target.tool_names, send)
