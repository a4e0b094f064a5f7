"""TLS, client certificates and bearer tokens."""
