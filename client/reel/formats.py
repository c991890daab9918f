"""The names of the providers' formats: the one list, in the order in which they are shown."""

FORMATS = ("openai-chat", "openai-responses", "anthropic", "gemini")
