"""Exports conversations to files that are readable without reel: Markdown, and HTML pages.

It imports :mod:`reel.reading`, whose layout it uses, and what is said, and reads no socket. Begin with
:mod:`reel.exporting.story`.
"""
