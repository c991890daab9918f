"""What a client may ask: the parameters of each method, and how they are read."""
