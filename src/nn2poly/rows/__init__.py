"""The sample: how it is read, split into folds, and walked."""
