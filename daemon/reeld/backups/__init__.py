"""Backups: writing one beside all other work, one a day, and putting one back.

``service`` writes one, checked by a process of its own (``child``), before it has its name. ``commands`` is what such a
process runs.
"""
