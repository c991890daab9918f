"""Minimal bodies that each rule accepts, tolerates (careless) and refuses."""
