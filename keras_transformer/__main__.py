"""`python -m keras_transformer` is the command line."""

import sys

from keras_transformer.cli import main

sys.exit(main())
