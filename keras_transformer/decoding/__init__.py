"""From step functions to sentences. What is decoded knows nothing of the model that it comes from."""
