"""A program of DSPy whose history is in ``reeld``: it goes on where it was, and others see it.

``python examples/dspy_program.py NAME TEXT`` asks it something, once each run; ``reel show NAME`` shows what was asked
and answered. Needs ``pip install . dspy`` and ``OPENAI_API_KEY``.
"""

import os
import sys
from itertools import pairwise

import dspy

import reel


class Talk(dspy.Signature):  # type: ignore[misc]  # its types are not read
    """Answer briefly."""

    question: str = dspy.InputField()
    history: dspy.History = dspy.InputField()
    answer: str = dspy.OutputField()


def history_of(client: reel.Client, name: str) -> dspy.History:
    """Return the questions of a conversation with their answers, whoever gave them."""
    said = [(each["role"], str(each["content"][0].get("text"))) for each in client.iter_messages(name)]
    pairs = [(one, two) for one, two in pairwise(said) if (one[0], two[0]) == ("user", "assistant")]
    return dspy.History(messages=[{"question": one[1], "answer": two[1]} for one, two in pairs])


def main(name: str, question: str) -> None:
    """Ask something, and print the answer."""
    dspy.configure(lm=dspy.LM("openai/gpt-4.1", api_base=os.environ.get("OPENAI_BASE_URL"), cache=False))
    with reel.Client(autostart=True) as client:
        client.add(name, [reel.text("user", question)], create=True)
        answer = dspy.Predict(Talk)(question=question, history=history_of(client, name)).answer
        client.add(name, [reel.text("assistant", answer)])
    print(answer)


if __name__ == "__main__":
    if len(sys.argv) != 3:  # noqa: PLR2004 - the name and the text
        sys.exit(f"usage: {sys.argv[0]} NAME TEXT")
    main(*sys.argv[1:])
