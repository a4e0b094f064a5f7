"""Text in and out of the models: tokenizer, corpus, batches and the embedded phrasebook."""
