"""Writers of the files of each format."""
