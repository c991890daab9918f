"""The daemon that owns the conversations of LLM agents."""
