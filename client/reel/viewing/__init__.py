"""Conversations in a browser, live and to look at only: a server on this machine, for one person."""
