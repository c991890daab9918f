"""An agent: it answers in a conversation whenever somebody has spoken there, with any OpenAI-compatible server.

Run ``OPENAI_BASE_URL=http://localhost:11434/v1 python examples/agent.py NAME MODEL``, and talk to it from anywhere:
``reel add NAME "Hello"``. Others see the answer grow while it comes. It has no tools, and asks for no more than words.
"""

import os
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPException

import reel
from reel.streams.stream import Stream

SERVER = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")
FORMAT = "openai-chat"


def answers(body: str) -> Iterator[bytes]:
    """Ask the server; give its event stream, line by line."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', '')}"}
    request = urllib.request.Request(f"{SERVER}/chat/completions", body.encode(), headers)  # noqa: S310 - the user's own
    with urllib.request.urlopen(request) as response:  # noqa: S310 - as above
        yield from response


def write(client: reel.Client, name: str, body: str) -> str:
    """Ask the server, and show its answer while it comes; return the event stream."""
    stream, came, shown = Stream(FORMAT), b"", ""
    for line in answers(body):
        came += line
        piece = stream.feed(line)
        if piece:
            shown += piece
            client.draft(name, shown)
    return came.decode()


def answer(client: reel.Client, name: str, model: str) -> None:
    """Answer what was said last, if that waits for an answer."""
    rendered = client.render(name, FORMAT, model=model, extra={"stream": True})
    if not rendered.ready:
        return
    try:
        came = write(client, name, rendered.body)
        # Only if nobody has spoken meanwhile: what they said wants another answer, and its event is here already.
        client.ingest(name, FORMAT, came, model=model, if_seq=rendered.at)
    except Exception:
        # What was not added would be shown as being written for as long as this program runs.
        client.draft(name, "")
        raise
    print(f"answered {rendered.at}", flush=True)


def main(name: str, model: str) -> None:
    """Answer from now on, and first what was said before."""
    client = reel.connect(autostart=True)
    with suppress(reel.Exists):
        client.create(name)
    print(f"{name}: listening", flush=True)
    for push in client.subscribe(name, since=0, kinds=["user", "tool_result"]):
        if isinstance(push, reel.EventPush):
            try:
                answer(client, name, model)
            except (reel.ReelError, OSError, HTTPException) as error:
                print(f"{name}: {error}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:  # noqa: PLR2004 - itself, and the two
        sys.exit(__doc__)
    with suppress(KeyboardInterrupt):
        main(*sys.argv[1:])
