"""``nn2poly demo``: train a small network on real data and go the whole way with it."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import nn2poly as n2p
from nn2poly.assess.fidelity import fidelity
from nn2poly.cli.command import Answer, command
from nn2poly.cli.console import progress
from nn2poly.cli.options import Force
from nn2poly.cli.plot import save_figure
from nn2poly.cli.polynomials import top_terms
from nn2poly.errors import InvalidInputError, StorageError
from nn2poly.fit.convert import convert
from nn2poly.tables import Table

if TYPE_CHECKING:
    import pandas as pd

TARGET = "progression"
# The study's own short names → what they measure.
NAMES = {
    "bp": "blood pressure",
    "s1": "cholesterol",
    "s2": "ldl",
    "s3": "hdl",
    "s4": "cholesterol/hdl",
    "s5": "log triglycerides",
    "s6": "glucose",
    "target": TARGET,
}
FILES = {
    "train.csv": "330 patients with diabetes, and its progression",
    "test.csv": "112 other patients",
    "model.skops": "a 10-32-16-1 ReLU network trained on them",
    "poly.json": "its polynomial of order 2",
    "importance.png": "the largest terms",
    "report.html": "all about it: open it in a browser",
}


@command(
    ("try everything on a real example", "nn2poly demo"),
    ("in a folder of your choice", "nn2poly demo --folder trial"),
)
def demo(
    folder: Annotated[
        Path, typer.Option("--folder", metavar="NAME", help="Folder to make.")
    ] = Path("nn2poly-demo"),
    force: Force = False,
) -> Answer:
    """Train a small network on real data, convert it, and write all files to a folder.

    The data are scikit-learn's diabetes study, which comes with it: 442 patients.
    """
    _check_folder(folder, force)
    with progress(5) as step, tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        work = Path(temporary)
        card, table = _fill(work, step)
        folder.mkdir(exist_ok=True)
        for name in FILES:
            shutil.move(work / name, folder / name)
    files = Table("", ("file", "what it is"), tuple(FILES.items()))
    commands = "\n".join(
        [
            "Next, try:",
            f"  cd {folder}",
            "  nn2poly show poly.json",
            f"  nn2poly fidelity poly.json -m model.skops -d test.csv -t {TARGET}",
            "  nn2poly plot effects poly.json --feature bmi --data test.csv",
            "  nn2poly export poly.json --to sql",
        ]
    )
    found = {"folder": str(folder), "files": list(FILES), "card": card.to_dict()}
    head = f"Wrote {len(FILES)} files to {folder}:"
    verdict = f"On patients that neither has seen: {card.verdict}"
    return Answer(found, (head, files, verdict, table, commands))


def _check_folder(folder: Path, force: bool) -> None:
    if folder.is_dir() and (force or not any((folder / name).exists() for name in FILES)):
        return
    if folder.exists():
        raise InvalidInputError(
            "The demo cannot be written there.",
            where=str(folder),
            expected="a folder without its files",
            found="files of an earlier demo" if folder.is_dir() else "a file",
            remedy="choose another with --folder, or add --force to overwrite them",
        )
    if not folder.parent.is_dir():
        raise StorageError(
            "The demo cannot be written there.",
            where=str(folder),
            found=f"no folder {str(folder.parent)!r}",
            remedy=f"make it: mkdir -p {folder.parent}",
        )


def _fill(folder: Path, step: Any) -> tuple[Any, Table]:
    """Write all files of the demo; give the fidelity card and the largest terms."""
    import skops.io

    step("training a network")
    train, test = _patients()
    model = _train(train)
    train.to_csv(folder / "train.csv", index=False)
    test.to_csv(folder / "test.csv", index=False)
    skops.io.dump(model, folder / "model.skops")
    step("converting it")
    inputs = train.drop(columns=TARGET)
    poly = convert(model, 2, data=inputs, output_names=[TARGET])
    poly.save(folder / "poly.json")
    step("drawing")
    save_figure(n2p.plots.importance(poly, 12), folder / "importance.png")
    step("writing the page")
    unseen, truth = test.drop(columns=TARGET), test[TARGET]
    with warnings.catch_warnings():
        # A few test patients lie just outside the training range; the card counts them.
        warnings.simplefilter("ignore")
        n2p.report(poly, model, unseen, truth, folder / "report.html", title="nn2poly demo")
        card = fidelity(model, poly, unseen)
    return card, top_terms(poly, 8)


def _patients() -> tuple[pd.DataFrame, pd.DataFrame]:
    from sklearn.datasets import load_diabetes
    from sklearn.model_selection import train_test_split

    frame = load_diabetes(as_frame=True, scaled=False).frame.rename(columns=NAMES)
    train, test = train_test_split(frame, random_state=1, test_size=112)
    return train, test


def _train(train: pd.DataFrame) -> Any:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    network = MLPRegressor(
        hidden_layer_sizes=(32, 16),
        alpha=1.0,
        learning_rate_init=0.005,
        max_iter=300,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 300 rounds are enough here
        return make_pipeline(StandardScaler(), network).fit(
            train.drop(columns=TARGET), train[TARGET]
        )
