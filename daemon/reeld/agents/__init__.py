"""Agents at work: the task that owns a conversation, and the registry that starts, finds and retires them."""
