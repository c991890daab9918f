"""The branches inside a conversation, each with a link to the conversation as it was at its end."""

from collections.abc import Iterable, Iterator
from html import escape

from reel.cli.branches import Stretch
from reel.cli.terminal import count, cut, seq_range
from reel.viewing.frame import link

_WORDS = 200


def branches(agent: str, stretches: Iterable[tuple[str, Stretch]]) -> Iterator[str]:
    """Yield the tree.

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
