"""Drafts grow on the screen, as far as there is room."""

from reel.cli.screen.live_drafts import LiveDrafts
from reel.cli.screen.output import render
from reel.wire.pushes import DraftPush


def shown(drafts: LiveDrafts, width: int = 40, height: int = 24) -> list[str]:
    return [render([line], colour=False) for line in drafts.lines(width, height)]


def drafts(*texts: str, client: str | None = "nvim") -> LiveDrafts:
    live = LiveDrafts(None)
    for connection, text in enumerate(texts):
        live.update(DraftPush("a1", connection, text, client))
    return live


def test_draft_has_the_name_of_its_client() -> None:
    """A client that gave no name is not named."""
    assert ["assistant · writing… (nvim)", "  so far"] == shown(drafts("so far\n"))
    assert ["assistant · writing…", "  so far"] == shown(drafts("so far", client=None))


def test_draft_of_an_agent() -> None:
    """If several agents are followed, a draft has the name of its agent."""
    live = LiveDrafts(lambda agent: f"name-of-{agent}")
    live.update(DraftPush("a1", 1, "so far", "nvim"))

    assert ["name-of-a1 · writing… (nvim)", "  so far"] == shown(live)


def test_end_of_a_long_draft() -> None:
    """What does not fit on the screen is left out, from the beginning."""
    lines = shown(drafts("\n".join(map(str, range(1000)))), height=10)

    assert ["assistant · writing… (nvim)", *(f"  {number}" for number in range(993, 1000))] == lines


def test_several_drafts_share_the_screen() -> None:
    """Each draft has its part of the screen."""
    assert ["assistant · writing… (nvim)", "  b", "  c", "assistant · writing… (nvim)", "  e", "  f"] == shown(
        drafts("a\nb\nc", "d\ne\nf"), height=8
    )
    assert 6 == len(shown(drafts(*"abcdefgh"), height=8))


def test_draft_that_has_ended() -> None:
    """An empty draft is gone, and so are all after the connection was lost."""
    live = drafts("one", "two")
    live.update(DraftPush("a1", 0, "", "nvim"))
    assert ["assistant · writing… (nvim)", "  two"] == shown(live)
    live.clear()
    assert [] == shown(live)


def test_hostile_draft() -> None:
    """Neither the text nor the client's name controls the terminal."""
    assert ["assistant · writing… (\\x1b[2J)", "  \\x1b]0;title\\x07"] == shown(
        drafts("\x1b]0;title\x07", client="\x1b[2J")
    )
