"""The Transformer decoder: its KV cache, one block, and the stack of blocks."""
