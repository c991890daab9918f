"""Verification of the database. It repairs nothing; every problem is reported.

``rules`` and ``rows`` are pure: the invariants of a log and of a row. ``logs`` feeds them from the database, ``sqlite``
has SQLite check the file, and ``verifier`` runs both while the daemon works.
"""
