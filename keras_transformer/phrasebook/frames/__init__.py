"""Sentence frames: slots, and the functions that fill them in both languages."""
