"""`python -m keras_transformer` is the command line."""

from keras_transformer.cli import command

command()
