"""Weights and tokenizers of other projects: readers of their files, and one mapping for each family."""
