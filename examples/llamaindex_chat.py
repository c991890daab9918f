"""A chat of LlamaIndex whose history is in ``reeld``: it goes on where it was, and others see it.

``python examples/llamaindex_chat.py NAME TEXT`` says something to it, once each run; ``reel show NAME`` shows what was
said. Needs ``pip install . llama-index-core llama-index-llms-openai`` and ``OPENAI_API_KEY``.
"""

import os
import sys

from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import ChatMessage, MessageRole
from llama_index.llms.openai import OpenAI

import reel


def history_of(client: reel.Client, name: str) -> list[ChatMessage]:
    """Return what was said in a conversation, whoever said it."""
    said = [(each["role"], block) for each in client.iter_messages(name) for block in each["content"]]
    return [ChatMessage(block["text"], role=MessageRole(role)) for role, block in said if block["type"] == "text"]


def main(name: str, said: str) -> None:
    """Say something, and print the answer."""
    model = OpenAI("gpt-4.1", api_base=os.environ.get("OPENAI_BASE_URL"))
    with reel.Client(autostart=True) as client:
        try:
            history = history_of(client, name)
        except reel.NotFound:
            history = []
        client.add(name, [reel.text("user", said)], create=True)
        chat = SimpleChatEngine.from_defaults(chat_history=history, llm=model)
        answer = chat.chat(said).response
        client.add(name, [reel.text("assistant", answer)])
    print(answer)


if __name__ == "__main__":
    if len(sys.argv) != 3:  # noqa: PLR2004 - the name and the text
        sys.exit(f"usage: {sys.argv[0]} NAME TEXT")
    main(*sys.argv[1:])
