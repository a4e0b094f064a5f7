"""From clean pairs to a trained model: loss, schedule, averaging, and the run that ties them to model.fit."""
