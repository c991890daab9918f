"""The handler of ``backup``: write a copy of the database beside all other work."""

from reeld.serving.call import Call, Detached, Result, Services


def backup(services: Services, _call: Call, path: str) -> Detached:
    """Write a copy of everything that was committed."""

    async def run() -> Result:
        return {"path": path, "bytes": await services.store.backup(path)}

    return Detached(run)
