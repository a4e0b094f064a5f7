"""What an exported version directory is: its manifest, checksums, quality card and golden sentences."""
