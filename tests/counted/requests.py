"""Counts the requests that a daemon has answered."""

from collections import Counter

from reel.sync.client import Client


def requests(client: Client) -> Counter[str]:
    """Return how many requests of each method there were."""
    seconds = client.stats()["request_seconds"]
    return Counter({method: sum(seconds[method]["counts"]) for method in seconds if method not in ("hello", "stats")})
