"""French and English grammar as small pure functions."""
