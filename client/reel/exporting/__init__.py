"""Conversations as files that people read without reel: Markdown, and pages for a browser."""
