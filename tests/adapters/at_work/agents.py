"""Five real coding agents, by the names of their programs."""

from collections.abc import Mapping

from tests.adapters.at_work.claude_code import ClaudeCode
from tests.adapters.at_work.codex import Codex
from tests.adapters.at_work.gemini_cli import GeminiCli
from tests.adapters.at_work.opencode import Opencode
from tests.adapters.at_work.pi import Pi
from tests.adapters.at_work.session import Session

AGENTS: Mapping[str, type[Session]] = {
    "claude": ClaudeCode,
    "codex": Codex,
    "opencode": Opencode,
    "gemini": GeminiCli,
    "pi": Pi,
}
