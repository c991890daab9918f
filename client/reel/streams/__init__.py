"""The event streams of providers: bytes in; out come the text for an echo, and in the end the response body."""
