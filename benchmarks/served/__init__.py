"""What benchmarks/serving.py starts as processes: a server with one of three engines, and what loads it."""
