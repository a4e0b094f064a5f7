"""From a trained model to files that other runtimes read, one format a file."""
