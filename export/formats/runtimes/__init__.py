"""The runtimes that read the files of each format, one a file."""
