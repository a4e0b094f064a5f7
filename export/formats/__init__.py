"""Formats of a version, each with its writer and the runtimes that read it."""
