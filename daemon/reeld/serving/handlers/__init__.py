"""The handlers of the methods: each returns the work that a request asks for."""
