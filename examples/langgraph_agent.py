"""A graph of LangGraph whose threads are in ``reeld``: it goes on where it was, and others see it.

``python examples/langgraph_agent.py THREAD TEXT`` says something to it, once each run; ``reel follow langgraph/THREAD``
in another terminal shows what is said and called. Needs ``pip install '.[langgraph]' openai`` and
``OPENAI_API_KEY``.
"""

import sys
from datetime import UTC, datetime
from typing import Any

from langchain_core.messages import convert_to_messages, convert_to_openai_messages
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from openai import OpenAI

from reel.integrations.langgraph import ReelSaver


def what_time_is_it() -> str:
    """Return the time, in UTC."""
    return f"{datetime.now(UTC):%H:%M}"


TOOLS: list[Any] = [what_time_is_it]


def model(state: MessagesState) -> dict[str, Any]:
    """Ask the model what comes next."""
    said: Any = convert_to_openai_messages(state["messages"])
    tools: list[Any] = [convert_to_openai_tool(tool) for tool in TOOLS]
    answer = OpenAI().chat.completions.create(model="gpt-5.2", messages=said, tools=tools)
    message = {"content": "", **answer.choices[0].message.model_dump(exclude_none=True)}
    return {"messages": convert_to_messages([message])}


def main(thread: str, said: str) -> None:
    """Say something to the graph, and print its answer."""
    builder = StateGraph(MessagesState)
    builder.add_node("model", model)
    builder.add_node("tools", ToolNode(TOOLS))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "model")
    # The line to change; without it: SqliteSaver(sqlite3.connect("checkpoints.db")).
    graph = builder.compile(checkpointer=ReelSaver(autostart=True))
    done = graph.invoke({"messages": [("user", said)]}, {"configurable": {"thread_id": thread}})
    print(done["messages"][-1].text)


if __name__ == "__main__":
    if len(sys.argv) != 3:  # noqa: PLR2004 - the thread and the text
        sys.exit(f"usage: {sys.argv[0]} THREAD TEXT")
    main(*sys.argv[1:])
