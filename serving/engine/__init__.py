"""The decoding thread around a batch, its latency estimate and statistics, and the thread for attention."""
