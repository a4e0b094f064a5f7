"""Families of models that are read from Hugging Face directories, or trained from nothing."""
