"""Assembles the event streams of providers: bytes in, text to echo out, and finally the response body.

There is a module for each format. They do no I/O, and import what is said and :mod:`reel.base`. Begin with
:mod:`reel.streams.stream`.
"""
