"""From a network to a polynomial: fill the expansions, then run the algebra once."""
