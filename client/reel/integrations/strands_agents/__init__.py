"""The sessions of Strands Agents: each agent of a session is an agent of the daemon. docs/frameworks.md has an example.

The modules import the framework, and what the integrations share. Begin with
:mod:`reel.integrations.strands_agents.repository`.
"""

from reel.integrations.frameworks import imported

with imported("strands-agents"):
    from reel.integrations.strands_agents.manager import ReelSessionManager as ReelSessionManager
    from reel.integrations.strands_agents.repository import ReelSessionRepository as ReelSessionRepository
