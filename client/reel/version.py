"""The version of the distribution and of the protocol it speaks."""

__version__ = "0.1.0"

PROTOCOL = 1
