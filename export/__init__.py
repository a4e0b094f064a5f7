"""Export of a trained model to files that other runtimes read."""
