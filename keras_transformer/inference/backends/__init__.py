"""Runtimes that decode a batch of rows, one a file; each imports its library itself."""
