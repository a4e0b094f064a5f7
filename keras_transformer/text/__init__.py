"""Text for the models: corpora, cleaning, tokenizer, division into sentences, batches."""
