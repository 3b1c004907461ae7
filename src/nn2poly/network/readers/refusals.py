"""Why parts of a model cannot be read, and what can be done: by fragments of their names."""

from __future__ import annotations

from nn2poly.errors import NN2PolyError

BY_HAND = "build it by hand: nn2poly.Network([nn2poly.Layer(weights, bias, 'tanh'), …])"
HEAD = "convert the dense part on its own, for example model.head, on the features that feed it"
SPREAD = "it divides each row by a norm of its own, which is not affine"
AFFINE = "use a batch normalisation (BatchNorm1d), which is affine"
PRODUCT = "it multiplies values by each other"
SUMS = "add them, or give their products as features"
RECURRENT = "a recurrent layer is not feed-forward"
LOOKUP = "it looks values up in a table"
POWER = "a power is not an activation of the table"
FEATURE = "give the power as a feature of its own, or use an activation"
# Fragment of a name, in lower case and without "_" → why, and the remedy; the first that fits.
REASONS: dict[str, tuple[str, str]] = {
    "lambda": ("it runs Python code that cannot be looked into", "use a layer in its place"),
    "conv": ("a convolution is not dense", HEAD),
    "pool": ("pooling is not dense", HEAD),
    "attention": ("attention multiplies values by each other", HEAD),
    "transformer": ("attention multiplies values by each other", HEAD),
    **dict.fromkeys(("rnn", "lstm", "gru", "bidirectional"), (RECURRENT, HEAD)),
    "embedding": (
        LOOKUP,
        "feed one-hot columns to a linear layer without bias, or convert what comes after it",
    ),
    "lookup": (LOOKUP, "encode the values before the model"),
    "encod": ("it encodes categories", "encode them before the model"),
    "discretization": ("it cuts numbers into steps", "cut them before the model"),
    **dict.fromkeys(("layernorm", "groupnorm", "rmsnorm", "instancenorm"), (SPREAD, AFFINE)),
    "norm": (SPREAD, AFFINE),
    **dict.fromkeys(("bilinear", "multiply", "dot"), (PRODUCT, SUMS)),
    **dict.fromkeys(("pow", "square"), (POWER, FEATURE)),
    "hardswish": ("it is not in the table of activations", "use SiLU (swish) or ReLU"),
}
UNKNOWN = "it is not part of a dense network"


def why(kind: str) -> tuple[str, str | None]:
    """Give the reason why a kind of layer or operation is not read, and a remedy if one is known.

    Examples
    --------
    >>> why("MaxPool1d")[0], why("TopK")
    ('pooling is not dense', ('it is not part of a dense network', None))
    """
    key = kind.replace("_", "").lower()
    return next((entry for part, entry in REASONS.items() if part in key), (UNKNOWN, None))


def as_function(model: object) -> str | None:
    """Say how the answers of a model that predicts are fitted; None of one that does not.

    The labels of a classifier are no numbers to fit; what they are chosen by is.

    Examples
    --------
    >>> class Forest:
    ...     predict = len
    >>> as_function(Forest())
    'pass model.predict to fit its outputs instead: convert(model.predict, 2, data=X)'
    """
    methods = ("predict_proba", "decision_function", "predict")
    found = () if isinstance(model, type) else (n for n in methods if hasattr(model, n))
    name = next(iter(found), None)
    return None if name is None else fitting(f"model.{name}")


def fitting(function: str) -> str:
    """Word the remedy that fits a function."""
    return f"pass {function} to fit its outputs instead: convert({function}, 2, data=X)"


def as_reason(error: NN2PolyError) -> str:
    """Give what an error says as the end of a sentence."""
    return error.what[0].lower() + error.what[1:].rstrip(".")
