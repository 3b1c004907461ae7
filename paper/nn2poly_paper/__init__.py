"""The NN2Poly paper, reproduced: every figure and table.

P. Morala, J. A. Cifuentes, R. E. Lillo, I. Ucar, "NN2Poly: A polynomial representation for deep
feed-forward artificial neural networks", IEEE Transactions on Neural Networks and Learning
Systems, 2023.

>>> from nn2poly_paper import EXPERIMENTS
>>> list(EXPERIMENTS)
['terms', 'partitions', 'example', 'simulation', 'boston', 'covertype']
"""

from nn2poly_paper.run import EXPERIMENTS, Outcome, reproduce

__all__ = ["EXPERIMENTS", "Outcome", "reproduce"]
