"""Training on several workers: who they are, how they watch each other, and what they exchange."""
