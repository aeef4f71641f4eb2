"""Private word embeddings."""
