"""Conversations in a browser, live and read-only: a server on this machine, for one person."""
