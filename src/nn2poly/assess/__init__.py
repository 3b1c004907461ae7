"""How far a polynomial may be trusted."""
