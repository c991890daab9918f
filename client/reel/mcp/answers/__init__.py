"""What an answer says, and how it stays in its budget. Pure. Begin with ``answer``.

What people, models and tools said stands between two fences; a message that has no room is cut in the middle, and a
cursor says where to read on.
"""
