"""The path of the coefficients during training, in torch, Lightning and Keras."""

import os
import tempfile
from functools import partial
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "torch")
os.environ.setdefault("KERAS_HOME", str(Path(tempfile.gettempdir()) / "nn2poly-keras"))

import keras
import lightning
import numpy as np
import pandas
import pytest
import torch
from torch import nn

from nn2poly.errors import InvalidInputError, InvalidNetworkError, NoSeriesError, RadiusWarning
from nn2poly.fit.convert import convert
from nn2poly.network.readers import read_network
from nn2poly.training import KerasConstraint, PolynomialTracker, TorchConstraint

# Keras' torch backend asks NumPy for arrays in the old way.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

X = np.random.default_rng(0).uniform(-1.0, 1.0, (128, 3)).astype("float32")
Y = np.hstack([X[:, :1] * X[:, 1:2], X[:, 2:]]).astype("float32")


def torch_model(activation=nn.Tanh):
    torch.manual_seed(0)
    return nn.Sequential(
        nn.BatchNorm1d(3), nn.Linear(3, 8), nn.Dropout(0.2), activation(), nn.Linear(8, 2)
    )


def train(model, n=23, *, track=None, constrain=False):
    torch.manual_seed(1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    if constrain:
        TorchConstraint(model).attach(optimizer)
    if track is not None:
        track.attach(optimizer)
    for _ in range(n):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(torch.tensor(X)), torch.tensor(Y)).backward()
        optimizer.step()
    return optimizer


def keras_model():
    keras.utils.set_random_seed(0)
    dense = partial(keras.layers.Dense, activation="tanh")
    model = keras.Sequential([keras.Input((3,)), dense(6), keras.layers.Dropout(0.2),
                              dense(4), keras.layers.Dense(2)])  # fmt: skip
    model.compile("adam", "mse")
    return model


# --- records ---------------------------------------------------------------------------------


def test_records_come_every_few_steps_and_are_the_polynomial_of_that_moment():
    model = torch_model()
    tracker = PolynomialTracker(model, every=10)
    train(model, track=tracker)
    assert tracker.steps.tolist() == [0, 10, 20]
    assert tracker.coefficients.shape == (3, 10, 2)
    tracker.detach()
    assert tracker.steps.tolist() == [0, 10, 20, 23]
    with pytest.warns(RadiusWarning):
        now = convert(model, 2).rebase(tracker.center, tracker.scale)
    np.testing.assert_allclose(tracker.coefficients[-1], now.coefficients)


@pytest.mark.parametrize("options", [{}, {"data": X}])
def test_torch_training_is_the_same_with_and_without_a_tracker(options):
    alone, watched = torch_model(), torch_model()
    train(alone)
    train(watched, track=PolynomialTracker(watched, every=5, **options))
    for a, b in zip(alone.state_dict().values(), watched.state_dict().values(), strict=True):
        assert torch.equal(a, b)
    assert watched.training


def test_a_calibrated_path_needs_no_series():
    model = torch_model(nn.ReLU)
    tracker = PolynomialTracker(model, every=8, max_order=1, data=X)
    train(model, track=tracker)
    assert tracker.coefficients.shape == (3, 4, 2)
    # The second target is the third input: its coefficient finds its way to 1.
    slopes = tracker.coefficients[:, 3, 1] / tracker.scale[2]
    assert abs(slopes[-1] - 1) < abs(slopes[0] - 1)


def test_a_network_without_a_series_is_refused_before_training():
    model = torch_model(nn.ReLU)
    with pytest.raises(NoSeriesError):
        train(model, track=PolynomialTracker(model))


def test_records_share_the_coordinates_of_the_first():
    """A batch normalisation in front changes the network's own coordinates at every step."""
    model = torch_model()
    tracker = PolynomialTracker(model, every=10)
    train(model, track=tracker)
    network = read_network(model.eval())
    assert not np.allclose(network.center, tracker.center)
    tracker.detach()
    last = tracker.coefficients[-1]
    z = (X[:5] - tracker.center) / tracker.scale
    rows = np.stack([np.prod(z[:, list(term)], axis=1) for term in tracker.terms], axis=1)
    with pytest.warns(RadiusWarning):
        np.testing.assert_allclose(rows @ last, convert(network, 2).predict(X[:5]), rtol=1e-9)


def test_a_constraint_that_is_attached_first_is_what_the_tracker_sees():
    model = torch_model()
    tracker = PolynomialTracker(model, every=1)
    optimizer = train(model, n=3, track=tracker, constrain=True)
    before = tracker.coefficients[-1]
    tracker.record()
    np.testing.assert_array_equal(tracker.coefficients[-1], before)
    assert len(optimizer._optimizer_step_post_hooks) == 2


def test_a_training_that_diverges_leaves_nan():
    model = torch_model()
    tracker = PolynomialTracker(model, every=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    tracker.attach(optimizer)
    model[1].weight.grad = torch.full_like(model[1].weight, float("nan"))
    optimizer.step()
    assert np.isfinite(tracker.coefficients[0]).all()
    assert np.isnan(tracker.coefficients[1]).all()
    with pytest.raises(InvalidNetworkError):
        PolynomialTracker(model).record()


def test_a_function_may_say_where_the_network_is():
    parts = {"encoder": None, "head": torch_model()}
    tracker = PolynomialTracker(lambda: parts["head"], every=10)
    train(parts["head"], n=10, track=tracker)
    assert len(tracker.steps) == 2
    assert PolynomialTracker(partial(read_network, parts["head"])).record() is None


def test_names_and_the_frame():
    model = torch_model()
    names = {"feature_names": ["a", "b", "c"], "output_names": ["u", "v"]}
    tracker = PolynomialTracker(model, every=10, max_order=1, **names)
    train(model, n=10, track=tracker)
    assert tracker.term_names() == ["1", "a", "b", "c"]
    assert list(tracker.terms) == [(), (0,), (1,), (2,)]
    frame = tracker.to_frame()
    assert list(frame.columns) == ["step", "term", "order", "u", "v"]
    wide = frame.pivot(index="step", columns="term", values="v")
    assert wide.loc[10, "b"] == tracker.coefficients[1, 2, 1]


def test_a_data_frame_names_the_features():
    tracker = PolynomialTracker(torch_model(), data=pandas.DataFrame(X, columns=list("abc")))
    tracker.record()
    assert tracker.term_names()[:4] == ["1", "a", "b", "c"]


def test_nothing_recorded_and_wrong_options_are_said():
    with pytest.raises(InvalidInputError, match="Nothing has been recorded"):
        PolynomialTracker(torch_model()).term_names()
    with pytest.raises(InvalidInputError, match="every"):
        PolynomialTracker(torch_model(), every=0)
    with pytest.raises(InvalidInputError):
        PolynomialTracker(torch_model(), max_order=0)


# --- Lightning and Keras ---------------------------------------------------------------------


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch_model()

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, _):
        return nn.functional.mse_loss(self(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.05)


@pytest.mark.filterwarnings("ignore:.*does not have many workers:UserWarning")
@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")  # Lightning against new torch
def test_a_lightning_training_is_recorded_to_its_end():
    module = Module()
    tracker = PolynomialTracker(module.net, every=3)
    data = torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor(Y))
    lightning.Trainer(
        max_epochs=2,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[tracker.lightning_callback()],
    ).fit(module, torch.utils.data.DataLoader(data, batch_size=32))
    assert tracker.steps.tolist() == [0, 3, 6, 8]


def test_keras_training_is_recorded_and_is_the_same_with_and_without_a_tracker():
    alone, watched = keras_model(), keras_model()
    keras.utils.set_random_seed(1)
    alone.fit(X, Y, epochs=2, verbose=0)
    keras.utils.set_random_seed(1)
    tracker = PolynomialTracker(watched, every=3)
    watched.fit(X, Y, epochs=2, verbose=0, callbacks=[tracker.keras_callback()])
    for a, b in zip(alone.get_weights(), watched.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)
    assert tracker.steps.tolist() == [0, 3, 6, 8]
    assert isinstance(tracker.keras_callback(), keras.callbacks.Callback)


def test_a_constrained_keras_training_is_recorded_as_constrained():
    model = keras_model()
    tracker = PolynomialTracker(model, every=4)
    callbacks = [KerasConstraint(), tracker.keras_callback()]
    model.fit(X, Y, epochs=1, verbose=0, callbacks=callbacks)
    np.testing.assert_allclose(tracker.coefficients[-1], convert(model, 2).coefficients)
