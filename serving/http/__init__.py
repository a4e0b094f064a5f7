"""The HTTP protocol of the service, compatible with LibreTranslate's clients, with health and metrics."""
