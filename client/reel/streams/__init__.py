"""The event streams of providers: bytes in, the text that they bring and the response body that they amount to out."""
