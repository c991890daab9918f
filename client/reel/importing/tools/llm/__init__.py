"""llm: its database, in the old and the new form.

It imports what :mod:`reel.importing.tools` says. Begin with :mod:`reel.importing.tools.llm.tool`.
"""
