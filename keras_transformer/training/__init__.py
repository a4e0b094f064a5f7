"""Training from clean pairs to a model: loss, schedule, averaging, and the run directory around model.fit."""
