"""Read scikit-learn's ``MLPRegressor`` and ``MLPClassifier``."""

from __future__ import annotations

from typing import Any

from nn2poly.errors import UnsupportedModelError
from nn2poly.network.network import Layer, Network
from nn2poly.outputs import output_names

# scikit-learn's names of hidden activations → ours.
ACTIVATIONS = {"identity": "linear", "logistic": "sigmoid", "tanh": "tanh", "relu": "relu"}
# scikit-learn's output activation → (our output layer's activation, our link).
OUTPUTS = {
    "identity": ("linear", "identity"),
    "logistic": ("linear", "sigmoid"),
    "softmax": ("linear", "softmax"),
    "exp": ("exp", "identity"),  # the Poisson loss predicts a mean
}
PERCEPTRONS = ("MLPClassifier", "MLPRegressor")


def read_perceptron(model: Any, name: str = "") -> Network:
    """Read a fitted perceptron with its feature names and classes; ``name`` is its step's."""
    if not hasattr(model, "coefs_"):
        place = f" (step {name!r} of the pipeline)" if name else ""
        raise UnsupportedModelError(
            f"This {type(model).__name__} is not fitted yet{place}.",
            remedy="call fit(X, y) on the whole model first",
        )
    hidden = ACTIVATIONS[model.activation]
    output, link = OUTPUTS[model.out_activation_]
    functions = [hidden] * (len(model.coefs_) - 1) + [output]
    layers = [
        Layer(weights, bias, function)
        for weights, bias, function in zip(model.coefs_, model.intercepts_, functions, strict=True)
    ]
    names = getattr(model, "feature_names_in_", None)
    classes = _classes(model)
    return Network(
        layers,
        feature_names=None if names is None else [str(name) for name in names],
        output_names=output_names(classes, layers[-1].n_outputs),
        classes=classes,
        link=link,
    )


def _classes(model: Any) -> list[Any] | None:
    classes = getattr(model, "classes_", None)
    return None if classes is None else list(classes.tolist())
