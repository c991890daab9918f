"""Exported pages in a real browser."""

from pathlib import Path

import pytest

from reel.exporting.page import page
from reel.exporting.story import Heading, Said
from tests.end_to_end.browser import CHROMIUM, Browser
from tests.reel.exporting.conversation import message, said

pytestmark = [pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"), pytest.mark.large]

# Each tries to add an element to the page, if it runs at all.
RUN = "document.body.append(document.createElement('hacked'))"
HOSTILE = (
    f"<script>{RUN}</script>",
    f"</pre></details></div></main><script>{RUN}</script>",
    f'<img src=x onerror="{RUN}">',
    f'"><svg onload="{RUN}">',
    f'<iframe srcdoc="<script>parent.{RUN}</script>"></iframe>',
    "<style>.who { display: none }</style>",
)


def shown(browser: Browser, path: Path) -> str:
    """Return the elements of a page, as a browser has them after its scripts and pictures."""
    with browser.page() as page:
        page.open(path.as_uri())
        # What a script was told of an element, such as that it was loaded, comes by then.
        page.run("new Promise(resolve => setTimeout(resolve))")
        return str(page.run("document.documentElement.outerHTML"))


def written(path: Path, text: str) -> Path:
    """Write a file and return its path."""
    path.write_text(text)
    return path


def hostile_page() -> str:
    """Return a page that has hostile texts in all places."""
    texts = [{"type": "text", "text": text} for text in HOSTILE]
    all_of_them = "\n\n".join(HOSTILE)
    call = {"type": "tool_call", "id": all_of_them, "name": all_of_them, "arguments": all_of_them}
    result = {"type": "tool_result", "tool_call_id": all_of_them, "content": all_of_them, "is_error": True}
    picture = {"type": "media", "mime_type": "image/png", "data_base64": all_of_them, "name": all_of_them}
    heading = Heading(all_of_them, all_of_them, {"a": all_of_them}, all_of_them, 9)
    messages = [
        message(1, all_of_them),
        said(2, "assistant", *texts, call),
        said(3, "tool", result),
        said(4, "user", picture),
    ]
    return "".join(page(heading, [Said(each, is_live) for is_live in (True, False) for each in messages]))


def test_a_browser_runs_nothing_of_hostile_texts(browser: Browser, tmp_path: Path) -> None:
    """No text of a conversation is run; a page without our precautions shows that this browser would run it."""
    careless = written(tmp_path / "careless.html", f"<!DOCTYPE html><body>{HOSTILE[0]}</body>")
    careful = written(tmp_path / "careful.html", hostile_page())

    assert "<hacked>" in shown(browser, careless)
    elements = shown(browser, careful)
    assert "<hacked>" not in elements
    assert 8 == elements.count("<article")
    assert elements.count("<script") == elements.count("<svg") == elements.count("<iframe") == 0


def test_the_policy_alone_is_enough(browser: Browser, tmp_path: Path) -> None:
    """If something was not escaped, the policy of the page would still keep it from running."""
    broken = hostile_page().replace("</header>", "".join(HOSTILE) + "</header>")

    elements = shown(browser, written(tmp_path / "broken.html", broken))

    assert "onerror" in elements
    assert "<hacked>" not in elements
