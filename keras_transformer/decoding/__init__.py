"""Search loops in keras.ops over a step function, traced into graphs. The server decodes with `inference`."""
