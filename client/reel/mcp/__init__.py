"""``reel mcp``: a server of the Model Context Protocol, by which agents read what was said in earlier conversations.

It stands on the async client and on the importers; the command opens it, and it knows nothing of the command. Begin
with :mod:`reel.mcp.server`. ``protocol`` knows how requests travel and nothing of conversations; ``answers`` is pure:
what an answer says, and how it stays in its budget; ``tools`` are what a model may call.
"""
