"""The words of four providers: histories rendered for them, answers and histories read from them.

Pure functions only: nothing here waits, reads a clock or touches the world.
"""
