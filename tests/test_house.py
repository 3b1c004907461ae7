"""The house rules: which room may open a door to which, what is imported, what is never used."""

from __future__ import annotations

import ast
import inspect
import json
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

import nn2poly
import nn2poly_paper

PACKAGE = Path(nn2poly.__file__).parent
PAPER = Path(nn2poly_paper.__file__).parent
FOLDERS = {PACKAGE.name: PACKAGE, PAPER.name: PAPER}
MODULES = sorted(path for folder in FOLDERS.values() for path in folder.rglob("*.py"))

# Modules on the ground floor (the errors lie under it), and what each room may import;
# every room may import itself.
GROUND = {
    *("arguments", "arrays", "batches", "cards", "files", "inputs", "links", "memory", "outputs"),
    "target_links",
    *(
        "plain",
        "progress",
        "sampling",
        "score_texts",
        "streams",
        "tables",
        "verdict_texts",
        "verdicts",
    ),
}
BASE = {"errors", "ground"}
CORE = {"algebra", "network", "formula", "assess", "rows", "factored", "fit"}
UPSTAIRS = {"estimators", "explain", "export", "plots", "reporting", "training"}
# Rooms built on one library import it at the top; they are opened by name only.
BUILT_ON = {
    "cli": {"click", "rich", "typer"},
    "estimators": {"sklearn"},
    "paper": {"nn2poly_paper"},
}
DOORS = {
    "errors": set(),
    "ground": {"errors"},
    "algebra": {"errors", "ground"},
    "network": {*BASE, "algebra"},
    "formula": {*BASE, "algebra"},
    "assess": {*BASE, "network", "formula"},
    "rows": {*BASE, "network"},
    "factored": {*BASE, "algebra", "network", "formula", "rows"},
    "fit": {*BASE, "algebra", "network", "formula", "assess", "rows", "factored"},
    **{room: {*BASE, *CORE, *UPSTAIRS} for room in sorted(UPSTAIRS)},
    "front": {*BASE, *CORE, *UPSTAIRS},
    "paper": {*BASE, *CORE, *UPSTAIRS, "front"},
    "cli": {*BASE, *CORE, *UPSTAIRS, "front", "paper"},
    "__main__": {"cli"},
}
FRAMEWORKS = {
    *("sklearn", "torch", "keras", "tensorflow", "jax", "onnx", "onnxruntime"),
    *("pandas", "polars", "scipy", "matplotlib", "sympy"),
}


@cache
def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def room_of(module):
    """Give the room of a dotted name; the package itself is the front, its neighbour the paper."""
    parts = module.split(".")
    if parts[0] == PAPER.name:
        return "paper"
    if len(parts) == 1:
        return "front"
    return "ground" if parts[1] in GROUND else parts[1]


def dotted(path):
    folder = PAPER if path.is_relative_to(PAPER) else PACKAGE
    parts = path.relative_to(folder.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path):
    """List the dotted names that a file imports, inside functions and for type checking too."""
    here = dotted(path).split(".")
    package = here if path.name == "__init__.py" else here[:-1]
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                full = f"{module}.{alias.name}"
                folder = FOLDERS.get(full.split(".")[0], PACKAGE)
                inner = folder.parent.joinpath(*full.split("."))
                is_module = inner.is_dir() or inner.with_suffix(".py").exists()
                yield full if is_module else module


@cache
def doors():
    """Collect (module, room, imported room) of every import inside the two packages."""
    return [
        (dotted(path), room_of(dotted(path)), room_of(name))
        for path in MODULES
        for name in imports_of(path)
        if name.split(".")[0] in FOLDERS
    ]


# --- rooms and doors -------------------------------------------------------------------------


def test_the_walk_sees_the_doors_that_are_known_to_be_there():
    found = {(room, other) for _, room, other in doors()}
    assert {("fit", "network"), ("formula", "algebra"), ("front", "assess")} <= found
    assert len(MODULES) > 25


def test_no_module_name_stands_in_two_rooms():
    """Commands are called as what they command; readers have rooms of their own."""
    names = {}
    for path in MODULES:
        room = room_of(dotted(path))
        if (
            path.name != "__init__.py"
            and room not in ("cli", "paper")
            and "readers" not in str(path)
        ):
            names.setdefault(path.stem, set()).add(dotted(path))
    assert {name: found for name, found in names.items() if len(found) > 1} == {}


def test_every_room_has_a_row_in_the_table():
    assert {room_of(dotted(path)) for path in MODULES} <= set(DOORS)


def test_no_door_opens_backwards():
    wrong = [
        f"{file}: {room} → {other}"
        for file, room, other in doors()
        if other != room and other not in DOORS[room]
    ]
    assert wrong == []


def test_no_two_rooms_import_each_other():
    between = {(room, other) for _, room, other in doors() if room != other}
    assert {frozenset(pair) for pair in between if pair[::-1] in between} == set()


def test_no_cycle_of_modules_import_each_other():
    """Of the imports that run when a module is loaded; those inside functions come later."""
    known = {dotted(path) for path in MODULES}
    graph = {}
    for path in MODULES:
        body = tree_of(path).body
        nodes = [node for node in body if isinstance(node, ast.ImportFrom) and node.module]
        names = {node.module for node in nodes}
        names |= {f"{node.module}.{alias.name}" for node in nodes for alias in node.names}
        graph[dotted(path)] = (names & known) - {dotted(path)}
    done = set()
    while ready := {m for m, needs in graph.items() if m not in done and needs <= done}:
        done |= ready
    assert known - done == set()


def test_nothing_imports_the_command_line():
    outside = [file for file, room, other in doors() if other == "cli" != room]
    assert outside == ["nn2poly.__main__"]


def test_one_command_opens_the_paper_and_only_when_asked():
    outside = {file for file, room, other in doors() if other == "paper" != room}
    assert outside == {"nn2poly.cli.reproduce"}
    code = "import sys, nn2poly.cli.app as app; app.build(); print('nn2poly_paper' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


def test_only_numpy_is_imported_at_the_top_of_a_module():
    """Frameworks are imported inside the functions that need them."""
    wrong = []
    for path in MODULES:
        for node in tree_of(path).body:
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            roots = {name.split(".")[0] for name in names}
            wrong += [
                f"{path.name}: {root}"
                for root in roots - set(sys.stdlib_module_names) - {"nn2poly", "numpy"}
                if "readers" not in path.parts
                and root not in BUILT_ON.get(room_of(dotted(path)), set())
            ]
    assert wrong == []


# --- importing the package -------------------------------------------------------------------

PROBE = """
import json, sys, time
started = time.process_time()
import numpy
begin = time.process_time()
import nn2poly
seconds = time.process_time() - begin
modules = sorted({name.partition(".")[0] for name in sys.modules})
print(json.dumps([seconds, begin - started, modules]))
"""


@pytest.fixture(scope="module")
def fresh_imports():
    """Import the package in five fresh interpreters: its seconds, those of NumPy, the modules."""
    runs = [
        subprocess.run(
            [sys.executable, "-c", PROBE], capture_output=True, text=True, check=True, timeout=60
        )
        for _ in range(5)
    ]
    return [json.loads(run.stdout) for run in runs]


def test_importing_the_package_takes_less_than_three_tenths_of_a_second(fresh_imports):
    """On a busy machine processor time grows too: for NumPy, 0.06 s at rest, as for the package."""
    seconds, numpy = (min(times) for times in list(zip(*fresh_imports, strict=True))[:2])
    assert seconds < 0.3 * max(1.0, numpy / 0.06)


def test_importing_the_package_imports_no_framework(fresh_imports):
    for *_, modules in fresh_imports:
        assert "nn2poly" in modules
        assert FRAMEWORKS & set(modules) == set()


def test_importing_the_package_says_nothing_and_sets_up_no_logging():
    code = "import logging, nn2poly; print(len(logging.root.handlers))"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert (run.stdout, run.stderr) == ("0\n", "")


# --- the front -------------------------------------------------------------------------------


def test_the_front_is_a_map_and_a_door_to_the_upper_floors():
    text = (PACKAGE / "__init__.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 80
    body = ast.parse(text).body
    assert {type(node) for node in body} <= {
        *(ast.Expr, ast.Import, ast.ImportFrom, ast.Assign),
        *(ast.If, ast.FunctionDef),
    }
    assert [ast.unparse(node.test) for node in body if isinstance(node, ast.If)] == [
        "TYPE_CHECKING"
    ]
    assert [node.name for node in body if isinstance(node, ast.FunctionDef)] == [
        "__dir__",
        "__getattr__",
    ]


def test_completion_shows_the_public_names():
    assert set(nn2poly.__all__) < set(dir(nn2poly))


@pytest.mark.parametrize("room", ["export", "plots"])
def test_completion_in_a_room_shows_its_public_names_only(room):
    module = getattr(nn2poly, room)
    assert dir(module) == sorted(module.__all__)


def test_an_unknown_name_of_the_package_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'convrt'"):
        nn2poly.convrt  # noqa: B018


def test_every_public_name_is_there_once_and_sorted():
    assert len(set(nn2poly.__all__)) == len(nn2poly.__all__)
    assert all(hasattr(nn2poly, name) for name in nn2poly.__all__)
    text = (PACKAGE / "__init__.py").read_text(encoding="utf-8")
    imported = {
        alias.asname or alias.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and node.module.startswith("nn2poly")
        for alias in node.names
    }
    assert imported == set(nn2poly.__all__)


def is_error(name):
    found = getattr(nn2poly, name)
    return inspect.isclass(found) and issubclass(found, BaseException)


@pytest.mark.parametrize("name", [name for name in nn2poly.__all__ if not is_error(name)])
def test_every_public_name_has_a_docstring_with_an_example(name):
    text = inspect.getdoc(getattr(nn2poly, name))
    assert text
    assert ">>>" in text


def test_the_version_is_that_of_the_package():
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    assert nn2poly.__version__ == tomllib.loads(text)["project"]["version"]


# --- what is never used ----------------------------------------------------------------------

UNSAFE_MODULES = {"pickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
# What runs tasks side by side, and the one door for models that the user vouches for.
MAY_UNPICKLE = {"nn2poly.fit.many": {"joblib"}, "nn2poly_paper.work": {"joblib"}}
UNSAFE_CALLS = {"eval", "exec", "compile", "__import__"}


@cache
def calls_of(path):
    calls = [node for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call)]
    return [(call, ast.unparse(call.func)) for call in calls]


def required_by(path):
    """List the modules that a file imports through `nn2poly.errors.require`."""
    for call, name in calls_of(path):
        if name == "require" and isinstance(call.args[0], ast.Constant):
            yield call.args[0].value


def test_nothing_is_unpickled():
    wrong = [
        f"{path.name}: {name}"
        for path in MODULES
        for name in (*imports_of(path), *required_by(path))
        if name.split(".")[0] in UNSAFE_MODULES - MAY_UNPICKLE.get(dotted(path), set())
    ]
    assert wrong == []


def test_nothing_is_evaluated_or_executed():
    wrong = [
        f"{path.name}:{call.lineno} {name}"
        for path in MODULES
        for call, name in calls_of(path)
        if name.removeprefix("builtins.") in UNSAFE_CALLS
    ]
    assert wrong == []


def test_numpy_loads_and_writes_without_pickle():
    """Calls that can pickle must say that they do not; none may say that they do."""
    can_pickle = {"load", "save", "savez", "savez_compressed", "read_array", "write_array"}
    wrong = []
    for path in MODULES:
        for call, name in calls_of(path):
            said = [k.value for k in call.keywords if k.arg == "allow_pickle"]
            safe = len(said) == 1 and isinstance(said[0], ast.Constant) and said[0].value is False
            owner, _, last = name.rpartition(".")
            by_numpy = owner in {"np", "numpy", "np.lib.format", "numpy.lib.format"}
            if (by_numpy and last in can_pickle and not safe) or (said and not safe):
                wrong.append(f"{path.name}:{call.lineno} {name}")
    assert wrong == []


def test_no_user_input_is_checked_by_assert():
    wrong = [
        f"{path.name}:{node.lineno}"
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Assert)
    ]
    assert wrong == []
