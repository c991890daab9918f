"""OpenClaw, and its earlier names: sessions in the form of pi, in a directory for each agent."""

from reel.importing.tools.pi.tool import pi_tool

_NAMES = (".openclaw", ".clawdbot", ".moltbot", ".moldbot")

TOOL = pi_tool("openclaw", "OpenClaw", tuple(f"{name}/agents" for name in _NAMES))
