"""Models and versions of a server: discovery, loading, and reloading."""
