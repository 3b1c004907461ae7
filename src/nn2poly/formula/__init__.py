"""The polynomial: explicit terms, names and units; it knows nothing of networks."""
