"""From a model and a sample of rows to a formula."""
