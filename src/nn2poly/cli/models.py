"""From the file of a trained model to a `Network`; files that can run code only if trusted."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from nn2poly.arguments import listed
from nn2poly.cli.extras import missing_library
from nn2poly.cli.pt2 import load_pt2
from nn2poly.cli.trusted import LOADERS, open_trusted
from nn2poly.errors import NN2PolyError, StorageError, UnsupportedModelError
from nn2poly.files import check_archive
from nn2poly.network.checking import ROWS, check_reading
from nn2poly.network.network import Network
from nn2poly.network.readers import read_network

# Parts of scikit-learn's networks, preprocessing and searches that skops does not vouch for.
# All hold numbers and settings; none runs code of the file's when it is opened.
SAFE_TYPES = (
    # The type of an array that is read without pickle; an imputer keeps one.
    "numpy.dtype",
    "sklearn.compose._column_transformer.make_column_selector",
    "sklearn.feature_selection._univariate_selection.f_classif",
    "sklearn.feature_selection._univariate_selection.f_regression",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.model_selection._split.KFold",
    "sklearn.model_selection._split.ShuffleSplit",
    "sklearn.model_selection._split.StratifiedKFold",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.utils._metadata_requests.MetadataRequest",
    "sklearn.utils._metadata_requests.MethodMetadataRequest",
)
# Files of which readers know every operation before one is run.
RUNNABLE = (".keras", ".onnx")
PICKLES = (".joblib", ".pickle", ".pkl", ".pt", ".pth")
ADVICE = {
    ".ckpt": "export the module: torch.export.save(…, 'model.pt2'), or to model.onnx",
    ".safetensors": "export the module: torch.export.save(…, 'model.pt2'), or to model.onnx",
    ".h5": "open it with keras.models.load_model and save it as model.keras",
    ".hdf5": "open it with keras.models.load_model and save it as model.keras",
    ".json": "give the network here; a polynomial is read by show, predict, plot and export",
    ".csv": "give the network here, and the table after --data",
}
# What unpickling says of a name that its module does not have.
NOT_IMPORTABLE = re.compile(r"Can't get attribute '([^']+)' on <module")
FORMATS = (".onnx", ".keras", ".skops", ".pt2")


def load_network(path: Path, *, trust: bool = False) -> Network:
    """Read the file of a trained model.

    Parameters
    ----------
    path
        ``.onnx``, ``.keras``, ``.skops`` or ``.pt2``; pickles with ``trust``.
    trust
        Open files that can run code.

    Returns
    -------
    Network

    Raises
    ------
    UnsupportedModelError
        For an unknown ending, a pickle that is not trusted, or a model that is no network.
    StorageError
        When there is no such file, or it is damaged.

    Examples
    --------
    >>> load_network(Path("weights.pkl"))
    Traceback (most recent call last):
    ...
    nn2poly.errors.StorageError: There is no such file.
    ...
    """
    check_file(path)
    ending = path.suffix.lower()
    if ending == ".keras":
        _choose_backend()
    if ending in RUNNABLE:
        return read_network(path)
    if ending not in LOADERS:
        raise _unknown(path)
    if trust:
        return _read(path, open_trusted)
    if ending in PICKLES:
        raise _untrusted(path)
    return _read(path, load_pt2 if ending == ".pt2" else load_skops)


def compare_with_file(network: Network, path: Path, rows: Any) -> None:
    """Refuse a network that does not give what its file gives on some of the rows.

    Only files whose every operation the reader knows are run: not an exported program, nor what a
    file of scikit-learn brings.
    """
    if path.suffix.lower() in RUNNABLE:
        check_reading(network, path, None if rows is None else rows[:ROWS])


def check_file(path: Path) -> None:
    """Refuse a path that is no readable file, with the nearest name beside it."""
    try:
        if path.is_file():
            path.open("rb").close()
            return
        found = "a folder" if path.is_dir() else "no such file"
        beside = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
    except (OSError, ValueError) as error:  # ValueError: a name that no system takes
        found, beside = getattr(error, "strerror", None) or str(error), []
    near = get_close_matches(path.name, beside, n=1, cutoff=0.8)
    remedy = f"check the path; the working folder is {Path.cwd()}"
    if near:
        remedy = f"did you mean {str(path.parent / near[0])!r}?"
    if found == "no such file":
        raise StorageError("There is no such file.", where=str(path)[:200], remedy=remedy)
    raise StorageError(
        "The file cannot be read.",
        where=str(path)[:200],
        expected="a file that may be read",
        found=found,
        remedy=remedy,
    )


def load_skops(path: Path) -> Any:
    """Open a scikit-learn model whose types are all known to be harmless.

    Parameters
    ----------
    path
        A file that ``skops.io.dump`` wrote.

    Raises
    ------
    UnsupportedModelError
        Naming the types that are not.
    """
    import skops.io

    check_archive(path)
    found = set(skops.io.get_untrusted_types(file=path))
    if strange := sorted(found - set(SAFE_TYPES)):
        raise UnsupportedModelError(
            "The file holds types that are not known to be harmless.",
            where=str(path),
            expected="a network of scikit-learn with its own preprocessing",
            found=listed(strange, str),
            remedy="if you know who made the file and these types, add --trust; or save a "
            "pipeline without them",
        )
    return skops.io.load(path, trusted=list(SAFE_TYPES))


def _choose_backend() -> None:
    """Let Keras use a backend that is installed: its own choice is TensorFlow, or nothing."""
    if "KERAS_BACKEND" in os.environ or find_spec("tensorflow") is not None:
        return
    if backend := next((name for name in ("torch", "jax") if find_spec(name)), None):
        os.environ["KERAS_BACKEND"] = backend


def _read(path: Path, load: Callable[[Path], Any]) -> Network:
    """Open a file with its library, then read the network inside."""
    with _damage_told(path, "The file cannot be opened as a model."):
        model = load(path)
    if isinstance(model, dict):
        raise UnsupportedModelError(
            "The file holds weights without their network (a state dict).",
            where=str(path),
            expected="a whole module",
            found=listed(list(model)),
            remedy="load them into the module and export it: torch.export.save(…, 'model.pt2')",
        )
    # A library may open a model whose parts do not go together.
    with _damage_told(path, "The model in this file does not hold together."):
        return read_network(model)


@contextmanager
def _damage_told(path: Path, what: str) -> Iterator[None]:
    """Turn whatever a damaged file makes a library raise into an error of ours."""
    try:
        yield
    except NN2PolyError:
        raise
    except ModuleNotFoundError as error:
        raise _missing(path, error) from error
    except Exception as error:
        if (name := NOT_IMPORTABLE.match(str(error))) is not None:
            raise _not_importable(path, name[1]) from error
        first = str(error).strip().partition("\n")[0]
        raise StorageError(
            what,
            where=str(path),
            expected=f"a file that {LOADERS[path.suffix.lower()].partition('.')[0]} wrote",
            found=f"{type(error).__name__}: {first}"[:500],
            remedy="save the model again; --debug shows the library's own message",
        ) from error


def _missing(path: Path, error: ModuleNotFoundError) -> NN2PolyError:
    if (known := missing_library(error)) is not None:
        return known
    return StorageError(
        "The model is made of code that is not installed here.",
        where=str(path),
        found=f"no module named {error.name!r}",
        remedy="run where that module can be imported, or save the model as .onnx",
    )


def _not_importable(path: Path, name: str) -> StorageError:
    better = "export it: torch.export.save(…, 'model.pt2'), or to model.onnx"
    return StorageError(
        f"The class {name!r} of the model cannot be imported here.",
        where=str(path),
        expected="classes of modules that are installed here",
        found="a pickle, which holds the names of its classes, not their code",
        remedy="load the model where the class is defined, and "
        + (better if path.suffix.startswith(".pt") else "save it as .skops or .onnx"),
    )


def _untrusted(path: Path) -> UnsupportedModelError:
    return UnsupportedModelError(
        "This file is a pickle: opening it runs whatever code its author put in.",
        where=str(path),
        expected=f"a format that holds data alone: {', '.join(FORMATS)}",
        found=path.suffix,
        remedy="if you made it yourself, or know who did, add --trust; better, save the model "
        f"as {'.pt2 or .onnx' if path.suffix.startswith('.pt') else '.skops'}",
    )


def _unknown(path: Path) -> UnsupportedModelError:
    ending = path.suffix.lower()
    return UnsupportedModelError(
        "This file cannot be read as a model.",
        where=str(path),
        expected=f"{', '.join(FORMATS)}; with --trust also {', '.join(PICKLES)}",
        found=ending or "no ending",
        remedy=ADVICE.get(ending, "save the model in one of these formats, for example as .onnx"),
    )
