"""What a model may call: each tool is a module with what it is told of it, and the function that answers.

They read, and what they find becomes an answer; only ``note`` writes. Begin with ``table``.
"""
