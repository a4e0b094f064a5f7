"""Content of an exported version directory: manifest, checksums, quality card and golden sentences."""
