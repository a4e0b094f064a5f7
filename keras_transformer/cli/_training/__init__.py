"""Options of `train` that `distill` has as well, and what several workers need."""
