"""The tools of a chat: what a model calls is shown, and its result comes from a command or from the person.

A command of ``[tools]`` in ``reel.toml`` gets the arguments on stdin, as JSON; the result is what it writes to stdout.
It runs only after a question, unless the file says that it may always run.
"""

import subprocess
from collections.abc import Callable, Mapping
from typing import Any

from reel.base.process_end import describe_end
from reel.cli.commands.shared.prompt import Prompt
from reel.cli.line.context import Context
from reel.said.messages import NewMessage
from reel.said.tool_calls import ToolCall

# How a tool is declared in each API.
_Declare = Callable[[str, str, Any], dict[str, Any]]
_FUNCTION: _Declare = lambda name, about, schema: {  # noqa: E731 - one of a table
    "type": "function",
    "function": {"name": name, "description": about, "parameters": schema},
}
_DECLARED: dict[str, _Declare] = {
    "openai-chat": _FUNCTION,
    "ollama": _FUNCTION,
    "openai-responses": lambda name, about, schema: {
        "type": "function",
        "name": name,
        "description": about,
        "parameters": schema,
    },
    "anthropic": lambda name, about, schema: {"name": name, "description": about, "input_schema": schema},
}
_ANY = {"type": "object", "properties": {}}
# Characters of a result that are shown.
_SHOWN = 400


def declared(tools: Mapping[str, Mapping[str, Any]], spoken: str) -> dict[str, Any]:
    """Return the field of a body that declares tools; nothing for a format whose requests are not known here."""
    if not tools:
        return {}
    given = [(name, tool.get("description", ""), tool.get("parameters", _ANY)) for name, tool in tools.items()]
    if spoken == "gemini":
        functions = [{"name": name, "description": about, "parameters": schema} for name, about, schema in given]
        return {"tools": [{"functionDeclarations": functions}]}
    declare = _DECLARED.get(spoken)
    return {} if declare is None else {"tools": [declare(*each) for each in given]}


class ToolRuns:
    """Gets the results of calls.

    Args:
        ctx: the command's context.
        prompt: reads what is typed.
    """

    def __init__(self, ctx: Context, prompt: Prompt) -> None:
        self._ctx = ctx
        self._prompt = prompt
        # The tools that need no question in this chat any more.
        self._allowed = {name for name, tool in ctx.settings.tools.items() if tool.get("ask") is False}

    def results(self, calls: list[ToolCall]) -> list[NewMessage]:
        """Return the results of calls; a call that the user leaves open has none."""
        found = []
        for call in calls:
            self._ctx.out.tell((f"{call.name}", "call"), (f"  {call.arguments_json}", ""))
            try:
                result = self._result(call)
            except (EOFError, KeyboardInterrupt):
                self._ctx.out.line()
                result = None
            if result is None:
                self._ctx.out.tell((f"{call.name} ({call.id}) waits for a result; /result gives it", "dim"))
            else:
                found.append(result)
        return found

    def _result(self, call: ToolCall) -> NewMessage | None:
        tool = self._ctx.settings.tools.get(call.name)
        if tool is None or not self._may_run(call.name, tool["command"]):
            said = self._prompt.read(f"result of {call.name}> ")
            return call.result(said) if said else None
        ran = subprocess.run(  # noqa: S602 - the user's own command line, to which they have agreed
            tool["command"], shell=True, input=call.arguments_json.encode(), capture_output=True, check=False
        )
        output, errors = (data.decode(errors="replace").strip("\n") for data in (ran.stdout, ran.stderr))
        failed = ran.returncode != 0
        said = "\n".join(filter(None, (output, errors, describe_end(ran.returncode)))) if failed else output
        shown = said if len(said) <= _SHOWN else f"{said[:_SHOWN]}… ({len(said):,} characters)"
        self._ctx.out.lines([[("  " + line, "error" if failed else "dim")] for line in shown.split("\n")])
        return call.result(said or "(no output)", failed)

    def _may_run(self, name: str, command: str) -> bool:
        if name in self._allowed:
            return True
        answer = self._prompt.line(f"run {command}? [y]es, [n]o, [a]lways> ").strip().lower()
        if answer[:1] == "a":
            self._allowed.add(name)
        return answer[:1] in ("y", "a")
