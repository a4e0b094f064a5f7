"""The models and versions of a server: finding, loading, and reloading them."""
