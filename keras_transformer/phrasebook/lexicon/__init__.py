"""The words of the phrasebook, and what can be said with them."""
