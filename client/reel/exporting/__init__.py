"""Exports conversations to files that are readable without reel: Markdown, and HTML pages."""
