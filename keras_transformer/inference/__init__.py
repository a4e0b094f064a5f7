"""Hosted decoding with a backend's encoder and step: requests, the running batch, greedy and beam search."""
