"""``reel mcp --install``: what is written so that a tool starts the server. Begin with :mod:`reel.mcp.wiring.plan`.

The files are other programs', with comments and an order of their own: of each, only the part is changed that is about
this server. ``json_text`` and ``toml_text`` are pure: a text goes in, and another one comes out.
"""
