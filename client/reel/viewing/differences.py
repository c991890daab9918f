"""What differs between two conversations, or two moments of one."""

from collections.abc import Iterator
from html import escape

from reel.cli.comparing import Said, Stretch
from reel.cli.terminal import count
from reel.exporting.layout import ROLES, Layout, folded

# Of a long stretch that both have, nothing but the number is shown.
_SHOWN = 20
_TITLES = {"-": "only in the first", "+": "only in the second"}
_KINDS = {"-": "minus", "+": "plus", "=": ""}


def form(one: str, other: str, agent: str | None) -> str:
    """Return the form that asks for two conversations."""
    hidden = "" if agent is None else f'<input type="hidden" name="agent" value="{escape(agent)}">'
    fields = "".join(
        f'<label>{label} <input name="{name}" value="{escape(value)}" placeholder="demo or demo@12" required></label>\n'
        for name, label, value in (("one", "First", one), ("other", "Second", other))
    )
    return f'<form class="points" action="/differences">{hidden}\n{fields}<button>Compare</button>\n</form>\n'


def differences(stretches: list[Stretch]) -> Iterator[str]:
    """Yield the stretches of two conversations."""
    if all(stretch.sign == "=" for stretch in stretches):
        yield '<p class="note">Nothing differs.</p>\n'
    layout = Layout()
    for number, (sign, messages) in enumerate(stretches):
        if sign == "=":
            yield _common(messages, layout, number)
            continue
        yield f'<section class="{_KINDS[sign]}" aria-label="{_TITLES[sign]}">\n<h2>{sign} {_TITLES[sign]}</h2>\n'
        for message in messages:
            yield from _article(message, layout, number)
        yield "</section>\n"


def _common(messages: list[Said], layout: Layout, number: int) -> str:
    prompts = sum(message.seq is None for message in messages)
    said = [count(len(messages) - prompts, "message")] if len(messages) > prompts else []
    what = " and ".join(["the system prompt"] * bool(prompts) + said) + " in common"
    if len(messages) > _SHOWN or any(message.content is None for message in messages):
        return f'<p class="event">{what}</p>\n'
    return folded(what, "".join(piece for message in messages for piece in _article(message, layout, number)))


def _article(message: Said, layout: Layout, number: int) -> Iterator[str]:
    seq = "" if message.seq is None else f"<span>#{message.seq}</span>"
    who = f"{ROLES.get(message.role, 'System prompt')}{seq}"
    yield from layout.article(f"d{number}-{message.seq or 0}", message.role, who, message.content)
