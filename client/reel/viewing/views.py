"""The views beside the conversations themselves: branches, differences, and token usage."""

from collections.abc import Iterable, Iterator
from html import escape

from reel.exporting.articles import ROLES, Articles, folded
from reel.reading.branches import Stretch
from reel.reading.difference import Compared, Hunk
from reel.reading.usage import COLUMNS, Sum, whole
from reel.reading.wording import count, cut, seq_range
from reel.viewing.frame import address, link, marked

# The maximum length of the first text of a branch that is shown.
_WORDS = 200
# For a longer common stretch, only the number of messages is shown.
_SHOWN = 20
_TITLES = {"-": "only in the first", "+": "only in the second"}
_KINDS = {"-": "minus", "+": "plus", "=": ""}
BY = ("model", "day")


def branches(agent: str, stretches: Iterable[tuple[str, Stretch]]) -> Iterator[str]:
    """Yield the branches inside a conversation, each with a link to the conversation at its end.

    Args:
        agent: the id of the agent.
        stretches: the stretches, each with its branch.
    """
    yield '<main id="main" tabindex="-1">\n<ol class="branches">\n'
    for branch, stretch in stretches:
        yield _stretch(agent, branch, stretch)
    yield "</ol>\n</main>\n"


def _stretch(agent: str, branch: str, stretch: Stretch) -> str:
    kind = "live" if stretch.live else "left"
    margin = f'<span class="branch" aria-hidden="true">{escape(branch)}</span>' if branch else ""
    if not stretch.nodes:
        where = '<span class="seqs">the beginning</span>'
    else:
        (first, _), (owner, last) = stretch.nodes[0].key, stretch.nodes[-1].key
        shown = "" if first == agent else " of another conversation"
        seqs = seq_range(stretch.nodes[0].key[1], last)
        at = None if stretch.now else last
        where = link(f"{seqs}, {count(stretch.messages, 'message')}{shown}", "/conversation", agent=owner, at=at)
    notes = ["now"] * stretch.now + [f"mark {mark.words or '(no label)'} #{mark.key[1]}" for mark in stretch.marks]
    badges = "".join(f'<span class="badge">{escape(note)}</span>' for note in notes)
    clones = "".join(
        f'<span class="badge">{link(f"clone {name} at #{at}", "/conversation", agent=name)}</span>'
        for name, at in stretch.clones
    )
    words = f'<span class="words">{escape(cut(stretch.words, _WORDS))}</span>'
    left = "" if stretch.live else '<span class="unseen"> (left behind)</span>'
    return f'<li class="{kind}">{margin}<span class="stretch">{where}{left} {badges}{clones} {words}</span></li>\n'


def form(one: str, other: str, agent: str | None) -> str:
    """Return the form that asks for two conversations."""
    hidden = "" if agent is None else f'<input type="hidden" name="agent" value="{escape(agent)}">'
    fields = "".join(
        f'<label>{label} <input name="{name}" value="{escape(value)}" placeholder="demo or demo@12" required></label>\n'
        for name, label, value in (("one", "First", one), ("other", "Second", other))
    )
    return f'<form class="points" action="/differences">{hidden}\n{fields}<button>Compare</button>\n</form>\n'


def differences(hunks: list[Hunk]) -> Iterator[str]:
    """Yield what two conversations, or two moments of one, have in common, and their differences."""
    if all(hunk.sign == "=" for hunk in hunks):
        yield '<p class="note">Nothing differs.</p>\n'
    articles = Articles()
    for number, (sign, messages) in enumerate(hunks):
        if sign == "=":
            yield _common(messages, articles, number)
            continue
        yield f'<section class="{_KINDS[sign]}" aria-label="{_TITLES[sign]}">\n<h2>{sign} {_TITLES[sign]}</h2>\n'
        for message in messages:
            yield from _article(message, articles, number)
        yield "</section>\n"


def _common(messages: list[Compared], articles: Articles, number: int) -> str:
    prompts = sum(message.seq is None for message in messages)
    said = [count(len(messages) - prompts, "message")] if len(messages) > prompts else []
    what = " and ".join(["the system prompt"] * bool(prompts) + said) + " in common"
    if len(messages) > _SHOWN or any(message.content is None for message in messages):
        return f'<p class="event">{what}</p>\n'
    return folded(what, "".join(piece for message in messages for piece in _article(message, articles, number)))


def _article(message: Compared, articles: Articles, number: int) -> Iterator[str]:
    seq = "" if message.seq is None else f"<span>#{message.seq}</span>"
    who = f"{ROLES.get(message.role, 'System prompt')}{seq}"
    yield from articles.article(f"d{number}-{message.seq or 0}", message.role, who, message.content)


def usage(agent: str | None, by: str, sums: dict[str, Sum]) -> Iterator[str]:
    """Yield the table of the tokens that responses used, in groups.

    Args:
        agent: the id of the agent; ``None`` for all.
        by: the grouping: ``model``, ``day`` or ``tag:KEY``.
        sums: the groups.
    """
    yield '<main id="main" tabindex="-1">\n<p class="choices">By '
    for choice in BY:
        target = escape(address("/usage", agent=agent, by=choice))
        yield f'<a href="{target}"{marked(is_current=choice == by)}>{choice}</a> '
    if agent is not None:
        yield f"· {link('of all conversations', '/usage', by=by)}"
    yield "</p>\n"
    if not sums:
        yield '<p class="note">No token counts.</p>\n</main>\n'
        return
    heads = "".join(f'<th scope="col">{column.replace("_", " ").capitalize()}</th>' for column in COLUMNS)
    yield f'<table class="usage">\n<thead><tr><th scope="col">{escape(by)}</th>{heads}</tr></thead>\n<tbody>\n'
    for name, entry in sorted(sums.items()):
        yield _row(name, entry)
    yield "</tbody>\n"
    if len(sums) > 1:
        yield f"<tfoot>\n{_row('total', whole(sums.values()))}</tfoot>\n"
    yield "</table>\n</main>\n"


def _row(name: str, entry: Sum) -> str:
    numbers = "".join(f"<td>{number:,}</td>" for number in entry.columns)
    return f'<tr><th scope="row">{escape(name)}</th>{numbers}</tr>\n'
