"""Runtimes that decode a batch of rows, each in a file that imports its library."""
