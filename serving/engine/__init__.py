"""The decoding thread around a batch, its latency estimate and statistics; the thread for attention."""
