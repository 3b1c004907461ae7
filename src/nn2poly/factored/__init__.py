"""A network whose activations are polynomials: the paper, and calibrations."""
