"""Runtimes that decode a batch of rows, each in a module that imports its library."""
