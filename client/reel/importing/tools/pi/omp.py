"""Oh My Pi: sessions in the form of pi."""

from reel.importing.tools.pi.tool import pi_tool

TOOL = pi_tool("omp", "Oh My Pi", (".omp/agent/sessions",))
