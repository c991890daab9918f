"""What an answer says, and how it stays in its budget: pure functions. Begin with :mod:`reel.mcp.answers.answer`.

What people, models and tools said stands between two fences; a message that has no room is cut in the middle, and a
cursor says where to read on.
"""
