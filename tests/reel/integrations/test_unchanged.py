"""Whether an agent is as a program knows it, without a request."""

from reel.integrations.unchanged import after_events, is_unchanged
from reel.sync.client import Client
from tests.daemon import Daemon


def test_own_commands_and_others(daemon: Daemon, client: Client) -> None:
    """After commands of its own a program knows the agent, unless somebody else has come before or after them."""
    agent = client.create().id
    known = client.fingerprint(client.server, agent)
    assert is_unchanged(client, client.server, agent, known)

    client.add(agent, ["own", "as well"])
    assert not is_unchanged(client, client.server, agent, known)
    known = after_events(known, 2)
    assert is_unchanged(client, client.server, agent, known)

    with daemon.client() as other:
        other.add(agent, "theirs")
    for _ in range(2):
        client.add(agent, "own")
        known = after_events(known, 1)
        assert not is_unchanged(client, client.server, agent, known)


def test_nothing_is_known(client: Client) -> None:
    """An agent that had no fingerprint has none after a command, and is not known to be unchanged."""
    agent = client.create().id

    assert after_events(None, 1) is None
    assert not is_unchanged(client, client.server, agent, None)
    assert not is_unchanged(client, None, agent, client.fingerprint(client.server, agent))
