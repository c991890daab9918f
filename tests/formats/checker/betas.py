"""The blocks of Anthropic's that a request's header declares (rule A23)."""

from collections.abc import Iterable

from tests.formats.checker.anthropic_request import Request
from tests.formats.checker.problem import Json, Problem

RULE = "beta-undeclared"
# How the names of the betas begin.
BETAS = {
    "fallback": "server-side-fallback-",
    "compaction": "compact-",
    "mcp_tool_use": "mcp-client-",
    "mcp_tool_result": "mcp-client-",
    "mcp_tool_listing": "mcp-client-",
    "container_upload": "files-api-",
}


def undeclared(body: Json, header: Iterable[str]) -> list[Problem]:
    """Return the blocks of a body whose beta the header does not have."""
    named = tuple(header)
    return [
        Problem(RULE, where, f"{block['type']!r} without its beta", careless=False)
        for where, block in Request(body, None).blocks()
        if (beta := BETAS.get(str(block.get("type")))) and not any(name.startswith(beta) for name in named)
    ]
