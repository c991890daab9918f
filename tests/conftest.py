"""No command that a test runs starts a daemon, unless the test is about that."""

import os

os.environ["REEL_NO_START"] = "1"
