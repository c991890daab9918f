"""The request and response formats of providers: histories rendered for them, answers and requests read.

Pure functions only: nothing here waits, reads a clock or does I/O. The rules that providers impose are numbered in
docs/provider-rules.md, and cited by number.
"""
