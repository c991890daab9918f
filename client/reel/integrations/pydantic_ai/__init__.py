"""Conversations of Pydantic AI: each is an agent of the daemon. docs/frameworks.md has an example.

The modules import the framework, and what the integrations share. Begin with
:mod:`reel.integrations.pydantic_ai.store`.
"""

from reel.integrations.frameworks import imported

with imported("pydantic-ai"):
    from reel.integrations.pydantic_ai.store import ReelConversationStore as ReelConversationStore
