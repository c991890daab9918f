"""An agent with tools: it answers whenever somebody has spoken, with any server that speaks OpenAI's Responses.

Run ``OPENAI_BASE_URL=http://localhost:11434/v1 python examples/agent.py NAME MODEL``, and talk to it from anywhere:
``reel add NAME "What time is it?"``. Others see the answer grow while it comes.
"""

import os
import sys
import time
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPException, HTTPResponse

import reel

SERVER = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")
TOOLS: dict[str, Callable[..., str]] = {"now": lambda: time.strftime("%A, %H:%M"), "add": lambda a, b: str(a + b)}
NUMBER = {"type": "number"}
PARAMETERS = {"now": {}, "add": {"a": NUMBER, "b": NUMBER}}
DECLARED = [
    {"type": "function", "name": name, "parameters": {"type": "object", "properties": properties}}
    for name, properties in PARAMETERS.items()
]


def post(body: str) -> HTTPResponse:
    """Ask the server; its response is read line by line."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', '')}"}
    request = urllib.request.Request(f"{SERVER}/responses", body.encode(), headers)  # noqa: S310 - the user's own
    response: HTTPResponse = urllib.request.urlopen(request)  # noqa: S310 - as above
    return response


def use(call: reel.ToolCall) -> reel.NewMessage:
    """Carry out a tool call. A failure is a result too: the model reads it, and can try something else."""
    try:
        return call.result(TOOLS[call.name](**call.arguments))
    except Exception as error:
        return call.result(f"{type(error).__name__}: {error}", is_error=True)


def respond(client: reel.Client, name: str, model: str) -> None:
    """Answer what was said last, and use the tools that the model asks for, until it asks for none."""
    while True:
        with client.answer(name, "openai-responses", {"model": model, "stream": True, "tools": DECLARED}) as answer:
            if answer.ready:
                for line in post(answer.body):
                    answer.feed(line)
        if answer.added:
            print(f"answered #{answer.rendered.at}", flush=True)
        if not answer.calls:
            return
        client.add(name, [use(call) for call in answer.calls])


def main(name: str, model: str) -> None:
    """Answer from now on, and first what was said before."""
    client = reel.connect(autostart=True)
    client.create(name, exist_ok=True)
    print(f"{name}: listening", flush=True)
    for push in client.subscribe(name, since=0, kinds=["user"]):
        if isinstance(push, reel.EventPush):
            try:
                respond(client, name, model)
            except (reel.ReelError, OSError, HTTPException) as error:
                print(f"{name}: {error}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:  # noqa: PLR2004 - itself, and the two
        sys.exit(__doc__)
    with suppress(KeyboardInterrupt):
        main(*sys.argv[1:])
