"""What a model may call: each tool is a module with the function that answers. Begin with :mod:`reel.mcp.tools.table`.

They read, and what they find becomes an answer; only ``note`` writes.
"""
