"""The inference server: continuous batches over an exported version."""
