"""Directories of Hugging Face transformers: one module a family, with its options and its tensors."""
