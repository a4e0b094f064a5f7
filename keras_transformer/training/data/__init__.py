"""Preparation of a corpus, and the dataset that `model.fit` reads."""
