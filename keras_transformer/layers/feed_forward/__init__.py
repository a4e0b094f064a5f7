"""Position-wise feed-forward networks, with and without a gate."""
