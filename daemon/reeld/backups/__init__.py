"""Backups: writing one while the daemon works, a daily schedule, and restoring.

``service`` writes a backup, and has a separate process check it before it gets its final name. ``commands`` runs in
that process.
"""
