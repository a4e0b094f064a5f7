"""From a corpus to the dataset that `model.fit` reads."""
