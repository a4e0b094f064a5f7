"""Runtimes that read the files of the formats, each in its own module."""
