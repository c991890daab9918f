"""A scratchpad that terminals share: what is typed in one appears in all of them, in one order.

Run ``python examples/scratchpad.py`` in two terminals, and type. ``/undo`` takes the newest line back, ``/clear`` all
of them; Ctrl-D or Ctrl-C leaves. Everything is still there when you come back, or after a ``kill -9`` of the daemon.
"""

import sys
import threading
from contextlib import suppress

import reel

# Up, and away with the line: the one that was just typed comes back from the daemon, with its number.
TAKE_LINE_BACK = "\x1b[A\x1b[2K" if sys.stdin.isatty() and sys.stdout.isatty() else ""


def say(line: str) -> None:
    """Print a line at once: two threads print, and ``print`` writes the end of a line by itself."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def show(message: reel.Message) -> None:
    """Print a line of the pad."""
    text = " ".join(block["text"] for block in message["content"] if block["type"] == "text")
    say(f"{message['seq']:>5}  {text}")


def watch(client: reel.Client, pad: str) -> None:
    """Print what is on the pad, and from then on what anybody does to it."""
    head = client.agent(pad).head
    for message in client.iter_messages(pad, at=head):
        show(message)
    for push in client.subscribe(pad, since=head):
        if not isinstance(push, reel.EventPush):
            continue
        if push.message is not None:
            show(push.message)
        elif push.kind in ("clear", "restore", "rewind", "clone"):
            say(f"------ {push.kind}")
            for message in client.iter_messages(pad, at=push.seq):
                show(message)


def main(pad: str) -> None:
    """Put on the pad what is typed."""
    client = reel.connect(autostart=True)
    with suppress(reel.Exists):
        client.create(pad, title="A scratchpad")
    threading.Thread(target=watch, args=(client, pad), daemon=True).start()
    for line in sys.stdin:
        print(TAKE_LINE_BACK, end="", flush=True)
        try:
            match line.strip():
                case "":
                    pass
                case "/undo":
                    client.undo(pad)
                case "/clear":
                    client.clear(pad)
                case text:
                    client.add(pad, text)
        except reel.ReelError as error:
            say(f"       {error}")


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main(*sys.argv[1:] or ["scratchpad"])
