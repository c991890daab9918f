"""The version of the distribution, which the build reads from this file, and of the protocol that it speaks."""

__version__ = "0.1.0"

PROTOCOL = 1

VERSIONS = f"reel {__version__}, protocol {PROTOCOL}"
