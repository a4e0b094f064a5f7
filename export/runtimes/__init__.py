"""The runtimes that an exported version can be asked in, one a file."""
