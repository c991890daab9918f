"""The history provider of Microsoft's Agent Framework: its sessions are agents of the daemon. See docs/frameworks.md.

The modules import the framework, and what the integrations share. Begin with
:mod:`reel.integrations.agent_framework.provider`.
"""

from reel.integrations.frameworks import imported

with imported("agent-framework"):
    from reel.integrations.agent_framework.provider import ReelHistoryProvider as ReelHistoryProvider
