"""Multi-head attention: the product of queries and keys, its masks, and the layers around them."""
