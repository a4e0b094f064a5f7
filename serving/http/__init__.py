"""The same service over HTTP, as LibreTranslate's clients call it and more; health and metrics beside it."""
