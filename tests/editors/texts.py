"""The texts of a conversation."""

from reel.sync.client import Client


def texts(client: Client, agent: str = "demo") -> list[str]:
    """Return the text of each message."""
    return [
        "".join(block["text"] for block in each["content"] if block["type"] == "text")
        for each in client.iter_messages(agent)
    ]
