"""All experiments in their quick versions: the science, the files, the same again."""

import csv
import json
from dataclasses import replace

import pytest

from nn2poly.errors import InvalidInputError, StorageError
from nn2poly_paper import covertype, reproduce
from nn2poly_paper.covertype_data import DataUnavailableError
from nn2poly_paper.page import render, write_page
from nn2poly_paper.store import ResultsError, Store
from nn2poly_paper.work import Work

FIGURES = {
    "fig01_terms",
    "fig02_partitions",
    "fig03_predictions",
    "fig04_potentials",
    "fig05_coefficients",
    "fig06_simulation",
    "beyond_simulation",
    "fig07_boston_predictions",
    "fig08_boston_coefficients",
    "fig09_covertype_trained",
    "covertype_errors_trained",
}
TIMED = "_timings.csv"

pytestmark = pytest.mark.study


def read(folder, name):
    with (folder / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def tables(folder):
    return {p.name: p.read_bytes() for p in folder.glob("*.csv") if not p.name.endswith(TIMED)}


# --- the science -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["terms", "partitions", "example", "simulation", "boston", "covertype_trained"]
)
def test_the_claims_of_the_paper_hold(quick, name):
    broken = [str(claim) for claim in quick.outcomes[name].claims if not claim.holds]
    assert broken == []
    assert len(quick.outcomes[name].claims) >= 2


def test_the_two_terms_of_the_example_come_out_on_top(quick):
    rows = [
        row
        for row in read(quick.folder, "example_coefficients")
        if (row["activation"], row["constrained"], row["method"]) == ("tanh", "yes", "taylor")
        and row["term"] != "1"
    ]
    assert {row["term"] for row in rows[:2]} == {"x2 · x3", "x1"}


def test_constrained_errors_lie_below_unconstrained_ones(quick):
    for name in ("example", "boston"):
        rows = [r for r in read(quick.folder, f"{name}_mse") if r["activation"] == "tanh"]
        held = max(float(r["mse_taylor"]) for r in rows if r["constrained"] == "yes")
        free = min(float(r["mse_taylor"]) for r in rows if r["constrained"] == "no")
        assert held < 1e-3 < free


def test_every_network_has_a_calibrated_column_and_relu_no_taylor_one(quick):
    for name in ("example_mse", "boston_mse", "simulation", "covertype_trained_mse"):
        rows = read(quick.folder, name)
        assert {row["activation"] for row in rows} >= {"tanh", "relu"}
        assert {row["constrained"] for row in rows} == {"yes", "no"}
        assert all(row["mse_calibrated"] for row in rows)
        assert all((row["mse_taylor"] == "") == (row["activation"] == "relu") for row in rows)


def test_the_published_network_gives_the_table_of_the_paper(covertype_files, tmp_path):
    (outcome,) = reproduce(
        ["covertype"],
        quick=True,
        out=tmp_path,
        jobs=1,
        network=covertype_files.network,
        data=covertype_files.data,
    )
    assert [str(claim) for claim in outcome.claims if not claim.holds] == []
    assert outcome.name == "covertype_published"
    agreement = {row["Q"]: row for row in read(tmp_path, "covertype_published_agreement")}
    assert float(agreement["1"]["agreement_taylor"]) > 0.99
    assert float(agreement["3"]["agreement_taylor"]) > 0.999
    page = render(Store(tmp_path), "paper")
    assert "Table IV" in page
    assert "0.418598" in page


# --- the files -------------------------------------------------------------------------------


def test_every_figure_is_there_as_png_and_pdf(quick):
    for suffix, start in (("png", b"\x89PNG"), ("pdf", b"%PDF")):
        found = {path.stem: path for path in quick.folder.glob(f"*.{suffix}")}
        assert set(found) == FIGURES
        assert all(path.read_bytes().startswith(start) for path in found.values())
        assert all(path.stat().st_size > 5000 for path in found.values())


def test_outcomes_name_the_files_that_are_there(quick):
    for outcome in quick.outcomes.values():
        assert all((quick.folder / file).exists() for file in outcome.files)


def test_the_record_tells_seed_settings_and_versions(quick):
    record = json.loads((quick.folder / "run.json").read_text())
    assert set(record) == set(quick.outcomes)
    assert record["boston"]["seed"] == 1
    assert record["boston"]["quick"] is True
    assert record["boston"]["settings"]["training"]["order"] == 3
    assert set(record["boston"]["versions"]) == {"nn2poly", "numpy", "torch"}


def test_progress_is_reported_unit_by_unit(quick):
    boston = [line for line in quick.lines if line[0] == "boston"]
    assert boston[0] == ("boston", 0, 4, "")
    assert [line[1] for line in boston] == [0, 1, 2, 3, 4]
    assert {line[0] for line in quick.lines} == set(quick.outcomes)


def test_no_file_is_left_half_written(quick):
    hidden = [p.name for p in quick.folder.rglob(".*") if p.name not in (".gitignore", ".units")]
    assert hidden == []


# --- again -----------------------------------------------------------------------------------


def test_a_second_run_computes_nothing_and_writes_the_same(quick):
    before, lines = tables(quick.folder), []
    figures = {p.name: p.read_bytes() for p in quick.folder.glob("fig*.p*")}
    reproduce(
        ["covertype"],
        quick=True,
        out=quick.folder,
        jobs=1,
        report=lambda *line: lines.append(line),
    )
    assert all(unit == "" for *_, unit in lines)
    assert tables(quick.folder) == before
    assert {p.name: p.read_bytes() for p in quick.folder.glob("fig*.p*")} == figures


def order_one(folder, seed):
    """Train and measure the networks of covertype at order 1 alone: rows of each table."""
    store = Store(folder)
    settings = replace(covertype.QUICK, orders=(1,), seed=seed)
    for name, rows in covertype.run(settings, Work(store, jobs=1)).tables.items():
        store.write_table(name, rows)
    return {path.stem: read(folder, path.stem) for path in folder.glob("*.csv")}


def test_the_same_seed_gives_the_same_tables_and_another_seed_others(quick, tmp_path):
    """From nothing, in this process where the first run used two."""
    same, other = (order_one(tmp_path / str(seed), seed) for seed in (1, 2))
    assert len(same) == 4
    for name, rows in same.items():
        assert rows == [r for r in read(quick.folder, name) if r.get("Q", "1") in ("", "1")]
        assert rows != other[name]


# --- refusals --------------------------------------------------------------------------------


def test_quick_results_do_not_replace_full_ones(tmp_path):
    reproduce(["terms"], out=tmp_path)
    before = tables(tmp_path)
    with pytest.raises(ResultsError, match="full results"):
        reproduce(["terms"], quick=True, out=tmp_path)
    assert tables(tmp_path) == before
    reproduce(["terms"], out=tmp_path)


def test_an_unknown_experiment_is_named_with_the_nearest():
    with pytest.raises(InvalidInputError, match="did you mean 'boston'"):
        reproduce(["bostn"])


@pytest.mark.parametrize("option", ["data", "network"])
def test_files_are_for_covertype(option, tmp_path):
    with pytest.raises(InvalidInputError, match="Only covertype"):
        reproduce(["boston"], out=tmp_path, **{option: "file"})


@pytest.mark.parametrize("option", ["data", "network"])
def test_a_missing_file_stops_covertype_before_any_work(option, tmp_path):
    with pytest.raises(DataUnavailableError, match=f"--{option} FILE"):
        reproduce(["covertype"], quick=True, out=tmp_path, jobs=1, **{option: tmp_path / "nothing"})
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_stops_before_any_work(tmp_path):
    (tmp_path / "results").write_text("")
    lines = []
    with pytest.raises(ResultsError):
        reproduce(["example"], quick=True, out=tmp_path / "results", report=lines.append)
    assert lines == []


@pytest.mark.parametrize("jobs", [0, -1, 1.5])
def test_the_number_of_jobs_is_a_count(jobs, tmp_path):
    with pytest.raises(InvalidInputError, match="jobs"):
        reproduce(["terms"], out=tmp_path, jobs=jobs)


# --- the page --------------------------------------------------------------------------------


def test_the_page_shows_the_numbers_of_the_tables(quick, tmp_path):
    path = write_page(quick.folder, tmp_path / "paper.md")
    text = path.read_text(encoding="utf-8")
    assert "{{" not in text
    assert "quick versions" in text
    medians = read(quick.folder, "simulation_medians")
    shown = float(next(r["mse_taylor"] for r in medians if r["activation"] == "sigmoid"))
    digits, exponent = f"{shown:.2e}".split("e")
    assert f"{digits}e{int(exponent)}" in text
    for outcome in quick.outcomes.values():
        assert all(claim.statement in text for claim in outcome.claims)


def test_every_figure_that_the_page_shows_is_there(quick, tmp_path):
    text = write_page(quick.folder, tmp_path / "paper.md").read_text(encoding="utf-8")
    links = [part.split(")")[0] for part in text.split("](")[1:] if ".png" in part.split(")")[0]]
    assert {link.rpartition("/")[2] for link in links} < {f"{name}.png" for name in FIGURES}
    assert len(links) == 10
    assert all((tmp_path / link).exists() for link in links)
    # With published weights alone.
    assert "*Not among these results: fig09_covertype.png.*" in text


def test_results_that_are_missing_are_named_on_the_page(tmp_path):
    reproduce(["terms"], out=tmp_path)
    text = render(Store(tmp_path), "paper")
    assert "29,260" in text
    assert "*Not among these results: boston_mse.csv.*" in text


def test_a_page_that_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(StorageError, match="cannot be written"):
        write_page(tmp_path, tmp_path / "no folder" / "paper.md")
