"""A conversation with every kind of block, and the lines that all four editors show of it."""

import re
from collections.abc import Iterable

from reel.said.messages import NewMessage
from reel.sync.client import Client
from tests.daemon import until_indexed

PROMPT = "Be brief."
MESSAGES: list[NewMessage] = [
    {"role": "user", "content": "hé\n\n  wie geht's?"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "text": "one\ntwo"},
            {"type": "redacted_thinking", "data": "abc"},
            {"type": "text", "text": "I look.\n\n## no heading of ours"},
            {"type": "tool_call", "id": "c1", "name": "look", "arguments": '{"at": 1}'},
            {"type": "opaque", "provider": "acme", "data_json": "{}"},
        ],
    },
    {
        "role": "tool",
        "content": [
            {"type": "tool_result", "tool_call_id": "c1", "content": "seen", "is_error": False},
            {
                "type": "tool_result",
                "tool_call_id": "c2",
                "content": [
                    {"type": "text", "text": "a```"},
                    {"type": "media", "mime_type": "image/png", "url": "https://x"},
                ],
                "is_error": True,
            },
        ],
    },
    {"role": "user", "content": [{"type": "media", "mime_type": "image/png", "data_base64": "AAA=", "name": "x.png"}]},
]
DRAFT = "I th"
# Without blank lines, and without the times of headings.
SHOWN = [
    *("## system", PROMPT, "## user #3", "hé", "  wie geht's?", "## assistant #4"),
    *("### thinking", "one", "two", "### thinking, redacted (3 characters)", "I look.", "## no heading of ours"),
    *("### call look c1", "```json", '{"at": 1}', "```", "### opaque block of acme", "```json", "{}", "```"),
    *("## tool #5", "### result of look c1", "```", "seen", "```"),
    *("### error c2", "````", "a```", "### media image/png https://x", "````"),
    *("## user #6", "### media image/png x.png 2 bytes", "## assistant · writing… (python)", DRAFT),
]
_TIME = re.compile(r"^(## \w+ #\d+) · \d{4}-\d\d-\d\d \d\d:\d\d:\d\d$")


def converse(client: Client) -> None:
    """Create the conversation ``demo`` with these messages and a draft."""
    client.create("demo", system=PROMPT)
    client.add("demo", MESSAGES)
    client.draft("demo", DRAFT)


def without_times(lines: Iterable[str]) -> list[str]:
    """Return lines as ``SHOWN`` has them."""
    return [_TIME.sub(r"\1", line) for line in lines if line]


QUERY = "tape"
# The hits of the query in a list, with A for the age.
HITS = [
    *("other", "  #2  user  A", "    修复 tape, tape"),
    "",
    *("demo  About: a deck", "  #5  assistant  A  not in the conversation", "    second tape two"),
    *("  #2  user  A", "    first tape of all"),
]
PAST = ["## user #2", "first tape", "of all", "## user #4", "no match", "## assistant #5", "second", "tape two"]
PAST_NOTICE = "*demo as it was at #5 ({} shows it as it is now)*"
NO_MATCHES = "no matches for zebra"
_AGE = re.compile(r"^(  #\d+  \w+  )(now|\d+\w+)")


def say_tapes(client: Client) -> None:
    """Create conversations in which the query is found, once in what was rewound."""
    client.create("demo", title="About: a deck")
    client.add("demo", "first tape\nof all")
    client.mark("demo")
    client.add("demo", ["no match", {"role": "assistant", "content": "second\ntape two"}])
    client.rewind("demo")
    client.add("other", "修复 tape, tape", create=True)
    until_indexed(client)


def without_ages(lines: Iterable[str]) -> list[str]:
    """Return lines as ``HITS`` has them."""
    return [_AGE.sub(r"\1A", line) for line in lines]
