"""The handler of ``backup``: a copy of the database in a new file, written beside all other work."""

from reeld.serving.call import Aside, Call, Desk, Result


def backup(desk: Desk, _call: Call, path: str) -> Aside:
    """Write a copy of everything that was committed."""

    async def run() -> Result:
        return {"path": path, "bytes": await desk.store.backup(path)}

    return Aside(run)
