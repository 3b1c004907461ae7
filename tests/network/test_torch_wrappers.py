"""Lightning modules and skorch nets are read with their module, classes and link."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import torch
from sklearn.datasets import load_iris, make_regression
from skorch import NeuralNetBinaryClassifier, NeuralNetClassifier, NeuralNetRegressor
from torch import nn

import nn2poly as n2p
from nn2poly.errors import UnsupportedModelError
from nn2poly.links import labels, probabilities
from nn2poly.network.readers import read_network

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


# --- Lightning -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lightning_module():
    """Give the base class; importing Lightning warns about its own dependencies."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import lightning
    return lightning


@pytest.fixture
def make_lit(lightning_module):
    class Lit(lightning_module.LightningModule):
        def __init__(self):
            super().__init__()
            self.save_hyperparameters()
            self.net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh())
            self.head = nn.Linear(8, 1)
            self.loss = nn.MSELoss()

        def forward(self, x):
            h = self.net(x)
            self.log("mean", h.mean())
            self.log_dict({"largest": h.max()})
            return self.head(h).squeeze(-1)

        def training_step(self, batch, index):
            x, y = batch
            value = self.loss(self(x), y)
            self.log("loss", value)
            return value

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=0.01)

    return Lit


def fit(lightning, model):
    X, y = make_regression(64, 4, random_state=0)
    data = torch.utils.data.TensorDataset(
        torch.from_numpy(X).float(), torch.from_numpy(y / y.std()).float()
    )
    trainer = lightning.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        log_every_n_steps=1,
    )
    trainer.fit(model, torch.utils.data.DataLoader(data, batch_size=16))
    return X


@pytest.mark.filterwarnings("ignore:.*num_workers", "ignore:.*LeafSpec:FutureWarning")
def test_a_fitted_lightning_module_is_read(lightning_module, make_lit):
    model = make_lit()
    X = fit(lightning_module, model)
    trainer = model.trainer
    network = read_network(model)
    assert model.trainer is trainer
    assert "log" not in vars(model)
    with torch.no_grad():
        body, x = model.net.double().eval(), torch.from_numpy(X)
        expected = model.head.double()(body(x)).squeeze(-1)
    np.testing.assert_allclose(network.predict(X), expected, rtol=1e-12, atol=1e-12)


def test_a_lightning_module_that_has_not_been_fitted_is_read(make_lit):
    assert repr(read_network(make_lit())) == "Network(4 → 8 tanh → 1 linear)"


def test_a_lightning_module_without_a_forward_is_its_only_part(lightning_module):
    class Bare(lightning_module.LightningModule):
        def __init__(self, *parts):
            super().__init__()
            self.model, self.loss = nn.Sequential(nn.Linear(2, 3), nn.ReLU()), nn.MSELoss()
            for number, part in enumerate(parts):
                setattr(self, f"part{number}", part)

    assert repr(read_network(Bare())) == "Network(2 → 3 relu)"
    with pytest.raises(UnsupportedModelError, match="Bare has no forward") as caught:
        read_network(Bare(nn.Linear(3, 1)))
    assert "model, part0" in caught.value.found
    assert "model.net" in caught.value.remedy


def test_the_example_of_a_lightning_module_gives_the_shape_of_its_rows(lightning_module):
    class Sliced(lightning_module.LightningModule):
        def __init__(self):
            super().__init__()
            self.example_input_array = torch.zeros(2, 6)
            self.fc = nn.Linear(2, 1)

        def forward(self, x):
            return self.fc(x[:, :2])

    network = read_network(Sliced())
    assert network.n_features == 6
    assert np.count_nonzero(network.layers[0].weights) == 2


# --- skorch ----------------------------------------------------------------------------------


def net_of(kind, module, **options):
    return kind(module, max_epochs=3, lr=0.05, train_split=None, verbose=0, **options)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X.astype(np.float32), y


def test_a_skorch_regressor_is_read():
    X, y = make_regression(60, 4, random_state=0)
    X, y = X.astype(np.float32), (y / y.std()).astype(np.float32)[:, None]
    module = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 1))
    net = net_of(NeuralNetRegressor, module).fit(X, y)
    network = read_network(net)
    np.testing.assert_allclose(network.predict(X), net.predict(X)[:, 0], atol=1e-5)
    assert (network.link, network.classes) == ("identity", None)
    poly = n2p.convert(net, max_order=2, data=X)
    assert poly.n_features == 4


CLASSIFIERS = {
    "softmax in the module": ([nn.Softmax(dim=-1)], {}),
    "logits and cross entropy": ([], {"criterion": nn.CrossEntropyLoss}),
}


@pytest.mark.parametrize("key", CLASSIFIERS)
def test_a_skorch_classifier_is_read_with_its_classes_and_link(iris, key):
    X, y = iris
    tail, options = CLASSIFIERS[key]
    module = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3), *tail)
    net = net_of(NeuralNetClassifier, module, **options).fit(X, y)
    network = read_network(net)
    assert (network.link, network.classes) == ("softmax", (0, 1, 2))
    assert network.output_names == ("0", "1", "2")
    raw = network.predict(X)
    np.testing.assert_allclose(probabilities(raw, "softmax"), net.predict_proba(X), atol=1e-5)
    assert np.array_equal(labels(raw, network.link, network.classes), net.predict(X))


def test_classes_that_do_not_match_the_outputs_are_left_out(iris):
    X, y = iris
    module = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 5), nn.Softmax(dim=-1))
    net = net_of(NeuralNetClassifier, module).fit(X, y)
    network = read_network(net)
    assert network.classes is None
    assert np.array_equal(labels(network.predict(X), network.link, None), net.predict(X))


def test_a_skorch_binary_classifier_gives_one_logit(iris):
    X, y = iris
    module = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))

    class Squeezed(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = module

        def forward(self, X):
            return self.net(X).squeeze(-1)

    net = net_of(NeuralNetBinaryClassifier, Squeezed).fit(X, (y == 1).astype(np.float32))
    network = read_network(net)
    assert (network.link, network.classes, network.n_outputs) == ("sigmoid", (0, 1), 1)
    found = probabilities(network.predict(X)[:, None], "sigmoid")
    np.testing.assert_allclose(found, net.predict_proba(X), atol=1e-5)


def test_a_net_that_is_not_fitted_is_refused():
    net = NeuralNetRegressor(nn.Linear(2, 1))
    with pytest.raises(UnsupportedModelError, match="NeuralNetRegressor is not fitted") as caught:
        read_network(net)
    assert "fit(X, y)" in caught.value.remedy


def test_a_nonlinearity_of_the_net_itself_is_refused():
    X = np.zeros((4, 2), dtype=np.float32)
    net = net_of(NeuralNetRegressor, nn.Linear(2, 1), predict_nonlinearity=torch.exp)
    net.fit(X, np.zeros((4, 1), dtype=np.float32))
    with pytest.raises(UnsupportedModelError, match="predict_nonlinearity of its own") as caught:
        read_network(net)
    assert "net.module_" in caught.value.remedy
