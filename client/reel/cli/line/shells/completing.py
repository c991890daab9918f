"""The hidden command ``reel __complete SHELL WORD...``: what the last word may be, for the script of a shell.

The first line is the kind of the words, ``files`` for those that the shell knows itself. Each further line is a word,
with what it means if the shell shows that.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from shlex import split

from reel import requests
from reel.base.errors import NotFound, ReelError
from reel.cli.line.arguments import SettingsError
from reel.cli.line.exits import OK
from reel.cli.line.meant import Meant
from reel.cli.line.settings import Settings, load
from reel.cli.line.shells.positions import AGENTS, ALL_AGENTS, MARKS, PROVIDERS, Offer, Wanted, wanted
from reel.daemon.address import default_socket
from reel.reading.short_names import shortest
from reel.reading.wording import flat, safe
from reel.replies import AgentRow
from reel.sync.client import Client

# Seconds after which a daemon that does not answer is not waited for.
_LIMIT = 5.0
_PAGE = 10_000
# What bash would not take for part of a word.
_SPECIAL = re.compile(r"([^\w@%+=:,./-])")


def complete(argv: Sequence[str]) -> int:
    """Print what the last word may be."""
    shell, *words = argv or ["bash"]
    if shell == "bash":  # it passes what was typed, with its quotes
        words = [_unquoted(word) for word in words]
    settings, last = _settings(), words[-1] if words else ""
    found = wanted(words, settings.aliases)
    offers: Iterable[Offer] = [*found.offers, *_looked_up(found, last, settings, is_filtered=shell == "bash")]
    if shell == "bash":  # the others choose themselves, some of them by more than the beginning
        offers = (offer for offer in offers if offer.word.startswith(last))
    lines = [found.kind, *(_FORMS[shell](offer) for offer in offers if offer.word.isprintable())]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return OK


def _settings() -> Settings:
    try:
        return load()
    except SettingsError:
        return Settings()


def _looked_up(found: Wanted, typed: str, settings: Settings, *, is_filtered: bool) -> list[Offer]:
    """Return the words that the daemon knows, or reel.toml; none if there is no answer.

    Args:
        found: which words are wanted.
        typed: the beginning of the word.
        settings: the user's settings.
        is_filtered: whether others than those that begin so are of no use.
    """
    if found.kind == PROVIDERS:
        return [Offer(name) for name in settings.providers]
    if found.kind not in (AGENTS, ALL_AGENTS, MARKS):
        return []
    try:
        with Client(found.socket or default_socket(), timeout=_LIMIT, name="reel") as client:
            if found.kind == MARKS:
                return [*_marks(client, found.agent)]
            rows = list(_agents(client, found.kind, typed[: typed.rfind("/") + 1] if is_filtered else ""))
            return _offered(rows, typed)
    except ReelError:
        return []


def _agents(client: Client, kind: str, prefix: str) -> Iterator[AgentRow]:
    """Yield the agents, the last changed one first."""
    alive, seen = None if kind == ALL_AGENTS else True, set[str]()
    for page in client.pages(requests.agents(prefix, alive, _PAGE, order="updated")):
        for row in page.agents:
            if row.id not in seen:  # one that changes while the list is read may come twice
                seen.add(row.id)
                yield row


def _offered(rows: Sequence[AgentRow], typed: str) -> list[Offer]:
    """Return agents by the short forms of their names, or by the names if these begin with what was typed."""
    names = [row.name for row in rows]
    short = shortest(names, names)

    def shown(name: str) -> str:
        return name if name.startswith(typed) and not short[name].startswith(typed) else short[name]

    return [Offer(shown(row.name), row.title or "") for row in rows]


def _marks(client: Client, agent: str) -> Iterator[Offer]:
    """Yield the labels of an agent's marks, the newest first, each once."""
    try:
        info = client.agent(agent)
    except NotFound as error:
        info = client.agent(Meant(client, client.server).only(agent, error))
    for label in dict.fromkeys(mark.label for mark in reversed(info.marks)):
        if label is not None:
            yield Offer(label)


def _unquoted(word: str) -> str:
    """Return what a word means that may be typed only in part, with a quote that is still open."""
    for missing in ("", "'", '"'):
        try:
            return "".join(split(word + missing))
        except ValueError:
            continue
    return word


def _told(offer: Offer) -> str:
    return safe(flat(offer.about))


def _for_bash(offer: Offer) -> str:
    return _SPECIAL.sub(r"\\\1", offer.word)


def _for_zsh(offer: Offer) -> str:
    word = offer.word.replace("\\", "\\\\").replace(":", "\\:")
    return f"{word}:{_told(offer)}" if offer.about else word


def _for_fish(offer: Offer) -> str:
    return f"{offer.word}\t{_told(offer)}" if offer.about else offer.word


_FORMS: dict[str, Callable[[Offer], str]] = {"bash": _for_bash, "zsh": _for_zsh, "fish": _for_fish}
