"""Reads what the providers' APIs hold: items, blocks and parts become neutral blocks.

The daemon's formats and the importers read with these modules, so an import is a load. They do no I/O, and import
nothing but what is said and :mod:`reel.base`. A reader refuses what is damaged. Begin with
:mod:`reel.providers.elements`.
"""
