"""A provider's items one by one: the messages that they become, and the same items again."""
