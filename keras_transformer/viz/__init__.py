"""What a Transformer does, made visible: pictures of attention and positions, and worked examples."""
