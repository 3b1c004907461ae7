"""Networks as plain NumPy arrays, and the readers that bring them from other packages."""
