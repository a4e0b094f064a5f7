"""The worked examples, as text in a terminal and as a page."""
