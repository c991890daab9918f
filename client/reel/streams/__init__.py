"""Assembles the event streams of providers: bytes in, text to echo out, and finally the response body."""
