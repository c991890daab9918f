"""The daemon's side of the wire: listener, connections, the method table."""
