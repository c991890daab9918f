"""An agent of the Claude Agent SDK whose transcripts are in ``reeld``: it goes on where it was, on any machine's disk.

``python examples/claude_agent.py TEXT`` says something to it, and goes on with its last session in this directory;
``reel list`` shows the sessions, and ``reel follow NAME`` what is said and called. Needs ``pip install
'.[claude-agent-sdk]'`` and what Claude Code needs, such as ``ANTHROPIC_API_KEY``.
"""

import asyncio
import shutil
import sys

from claude_agent_sdk import AssistantMessage, ClaudeAgentOptions, TextBlock, query

from reel.integrations.claude_agent_sdk import ReelSessionStore


async def main(said: str) -> None:
    """Say something to the agent, and print its answer."""
    options = ClaudeAgentOptions(
        # The line to add; without it, transcripts are only in files of this machine.
        session_store=ReelSessionStore(autostart=True),
        continue_conversation=True,
        # Your own Claude Code, if it is installed; else the one that comes with the SDK.
        cli_path=shutil.which("claude"),
    )
    async for message in query(prompt=said, options=options):
        if isinstance(message, AssistantMessage):
            print(*(block.text for block in message.content if isinstance(block, TextBlock)), flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:  # noqa: PLR2004 - the text
        sys.exit(f"usage: {sys.argv[0]} TEXT")
    asyncio.run(main(sys.argv[1]))
