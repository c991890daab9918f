"""The conversations of the OpenHands SDK, whose event log is an agent of the daemon. docs/frameworks.md has an example.

The modules import the framework, and what the integrations share. Begin with
:mod:`reel.integrations.openhands_sdk.file_store`.
"""

from reel.integrations.frameworks import imported

with imported("openhands-sdk"):
    from reel.integrations.openhands_sdk.conversation import ReelConversation as ReelConversation
    from reel.integrations.openhands_sdk.file_store import ReelFileStore as ReelFileStore
