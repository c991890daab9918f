"""Converts a provider's items one by one to messages, and back to the same items."""
