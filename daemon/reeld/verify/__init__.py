"""Verification: is the database what it should be? Nothing is repaired; every problem is reported.

``rules`` and ``rows`` are pure: what must hold of a log and of a row. ``logs`` feeds them from the database, ``sqlite``
asks SQLite about the file, and ``verifier`` runs both beside all other work.
"""
