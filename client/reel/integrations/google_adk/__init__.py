"""The session service of Google's ADK: its sessions are agents of the daemon. docs/frameworks.md has an example.

The modules import the ADK, and what the integrations share. Begin with :mod:`reel.integrations.google_adk.service`.
"""

from reel.integrations.frameworks import imported

with imported("google-adk"):
    from reel.integrations.google_adk.service import ReelSessionService as ReelSessionService
