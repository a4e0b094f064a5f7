"""Visualization of Transformers: pictures of attention and positions, pages, and worked examples."""
