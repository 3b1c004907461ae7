"""``nn2poly fidelity``: how closely a polynomial follows its network on rows of a file."""

from __future__ import annotations

from nn2poly.assess import fidelity as assess
from nn2poly.cli.command import Answer, command
from nn2poly.cli.console import progress
from nn2poly.cli.options import (
    DataOption,
    Groups,
    KeyFile,
    ModelOption,
    PolyArgument,
    TableOptions,
    Threshold,
    Trust,
)
from nn2poly.cli.polynomials import known_labels, load_case, scores_text, target_scores


@command(
    (
        "compare on rows that the conversion did not see",
        "nn2poly fidelity poly.json --model model.onnx --data test.csv",
    ),
    (
        "also against the truth, for another program",
        "nn2poly fidelity poly.json -m model.skops -d test.csv -t price --json",
    ),
)
def fidelity(
    poly: PolyArgument,
    model: ModelOption,
    data: DataOption,
    table: TableOptions,
    threshold: Threshold = None,
    groups: Groups = None,
    trust: Trust = False,
    key_file: KeyFile = None,
) -> Answer:
    """Measure how closely a polynomial follows its network on your rows."""
    with progress(4) as step:
        case = load_case(
            poly, model, data, table, trust=trust, key_file=key_file, step=step, groups=groups
        )
        step("comparing")
        poly_here = case.poly if threshold is None else case.poly.with_threshold(threshold)
        labels = known_labels(poly_here, case.target)
        card = assess.fidelity(case.network, poly_here, case.X, labels, groups=case.groups)
    scores = target_scores(case.network, poly_here, case.X, case.target)
    verdict = str(card.verdict)
    parts = (verdict, *scores_text(scores, table.target), *card.tables(), str(card.guarantee))
    return Answer({"verdict": verdict, "card": card.to_dict(), "scores": scores}, parts)
