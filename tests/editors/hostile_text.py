"""Texts that an editor executes if it trusts them."""

import json

from reel.said.messages import NewMessage
from reel.sync.client import Client

# What runs code where Vim takes a text for a 'statusline', a 'titlestring', a command or keys.
RUN = "execute('let g:ran = 1')"
EXPRESSIONS = f"%{{{RUN}}} %{{%{RUN}%}} | let g:ran = 1 | <C-r>={RUN}"
# Sets an option of the buffer, one of the window, and one that is an expression.
MODELINE = " vim: set tabstop=77 foldminlines=77 foldexpr=77:"

# What sets variables of Emacs and runs code, in a first line and at an end.
LOCAL_VARIABLES = """-*- fill-column: 77; eval: (setq ran t) -*-
%b (:eval (setq ran t))
Local Variables:
fill-column: 77
eval: (setq ran t)
End:"""


def converse(client: Client, text: str) -> None:
    """Create the conversation ``demo``, with the text in every place that may have one."""
    client.create("demo", system=text, title=text.splitlines()[0])
    client.mark("demo", text.splitlines()[0])
    message: NewMessage = {
        "role": "assistant",
        "content": [
            {"type": "text", "text": text},
            {"type": "thinking", "text": text},
            {"type": "tool_call", "id": text, "name": text, "arguments": text},
            {"type": "media", "mime_type": text, "name": text, "url": text},
            {"type": "opaque", "provider": text, "data_json": json.dumps(text)},
        ],
    }
    client.add("demo", [message])
    client.draft("demo", text)
