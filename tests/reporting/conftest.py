"""A real browser, and the reports that the tests open in it."""

import os
import shutil

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.formula.region_tree import Leaf, Split
from nn2poly.inputs import Column, Coordinate, Inputs
from nn2poly.inputs.functions import BoxCox, Identity, YeoJohnson

ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
]
NAMES = ("chromium", "chromium-browser", "google-chrome")
AWKWARD = (
    "<script>alert(1)</script>",
    "</script>",
    '"onmouseover="alert(1)',
    "a name of sixty characters, which is as long as it may become",
    "$x^2$ %{y} & <b>bold</b>",
    "it's {{ 7 * 7 }} — Größe &lt;",
)


@pytest.fixture(scope="session")
def browser():
    """Start Chromium once; without one the tests are skipped, but never in CI."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        if os.environ.get("CI"):
            pytest.fail(f"no browser: none of {', '.join(NAMES)} is installed")
        pytest.skip("no browser is installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield chromium
        chromium.close()


class Visit:
    """An open page, and everything that went wrong on it."""

    def __init__(self, page):
        self.page, self.wrong, self.requests = page, [], []
        page.on("console", lambda m: self.wrong.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("dialog", lambda dialog: (self.wrong.append("a dialog"), dialog.dismiss()))
        page.on("request", lambda request: self.requests.append(request.url))

    def raw(self):
        """Wait until the panel has caught up, and give the prediction in full precision."""
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => done()))")
        return np.array(self.page.evaluate("JSON.parse(prediction.dataset.raw)"))

    def scroll_through(self):
        """Bring every part into view, so that every chart is drawn."""
        height = self.page.evaluate("document.documentElement.scrollHeight")
        for y in range(0, height + 700, 700):
            self.page.evaluate(f"window.scrollTo({{ top: {y}, behavior: 'instant' }})")
            self.page.evaluate("() => new Promise((done) => setTimeout(done, 30))")

    @property
    def addresses(self):
        """What was asked for, other than the file itself and images inside it."""
        return [url for url in self.requests if not url.startswith(("file:", "data:", "blob:"))]


@pytest.fixture
def visit(browser):
    """Open a report; afterwards nothing may have gone wrong, nor a network been asked."""
    visits = []

    def opened(path, *, width=1280, height=900, permissions=(), **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        context.grant_permissions(list(permissions))
        made = Visit(context.new_page())
        visits.append((context, made))
        made.page.goto(path.as_uri())
        if options.get("java_script_enabled", True):
            made.page.wait_for_selector("html[data-ready]")
        return made

    yield opened
    for context, made in visits:
        context.close()
        assert made.wrong == []
        assert made.addresses == []


@pytest.fixture(scope="session")
def residents(browser):
    """Keep pages open that several tests look at."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    pages = {}

    def resident(path):
        if path not in pages:
            pages[path] = Visit(context.new_page())
            pages[path].page.goto(path.as_uri())
            pages[path].page.wait_for_selector("html[data-ready]")
        return pages[path]

    yield resident
    context.close()


@pytest.fixture
def stay(residents):
    """Look at a page that stays open, put back to where it began."""
    used = []

    def looked_at(path):
        made = residents(path)
        used.append(made)
        page = made.page
        page.bring_to_front()
        if page.locator("#output").count():
            page.locator("#output").select_option("0")
        page.locator("#preset").select_option("typical")
        page.locator("#preset").dispatch_event("change")
        return made

    yield looked_at
    for made in used:
        assert made.wrong == []
        assert made.addresses == []


class Made:
    """A report with what it was made of."""

    def __init__(self, path, poly, X, y=None):
        self.path, self.poly, self.X, self.y = path, poly, X, y
        self.text = path.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="session")
def diabetes(folder):
    """A regression on real data: scikit-learn's pipeline, a calibrated polynomial."""
    from sklearn.datasets import load_diabetes
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    network = MLPRegressor(
        hidden_layer_sizes=(12,), activation="tanh", solver="lbfgs", alpha=50.0, random_state=0
    )
    model = make_pipeline(StandardScaler(), network).fit(X[:300], y[:300] / 100)
    poly = n2p.convert(model, 2, data=X[:300], output_names=["progression"])
    path = n2p.report(poly, model, X[300:], y[300:] / 100, folder / "diabetes.html")
    return Made(path, poly, X[300:].to_numpy(dtype=float), y[300:] / 100)


@pytest.fixture(scope="session")
def wine(folder):
    """Three classes on real data."""
    from sklearn.datasets import load_wine
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = load_wine(return_X_y=True, as_frame=True)
    network = MLPClassifier(
        hidden_layer_sizes=(8,), activation="tanh", solver="lbfgs", alpha=1.0, random_state=0
    )
    labels = np.array(["barolo", "grignolino", "barbera"])[y]
    model = make_pipeline(StandardScaler(), network).fit(X, labels)
    poly = n2p.convert(model, 2, data=X)
    path = n2p.report(poly, model, X, labels, folder / "wine.html", title="Wine")
    return Made(path, poly, X.to_numpy(), labels)


@pytest.fixture(scope="session")
def awkward(folder, make_network):
    """Names that are markup, quotes, templates; two outputs."""
    network = make_network(1, (6, 5, 2)).named(AWKWARD, ["<img src=x onerror=alert(2)>", "a & b"])
    X = np.random.default_rng(1).normal(size=(120, 6))
    poly = n2p.convert(network, 3, data=X)
    title = "</title><script>alert(3)</script>"
    path = n2p.report(poly, network, X, path=folder / "awkward.html", title=title)
    return Made(path, poly, X)


@pytest.fixture(scope="session")
def covertype(folder, make_network):
    """The size of the paper's largest example: 54 features, 7 outputs, 29,260 terms."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(240, 54))
    X[:, 10:14] = np.eye(4)[rng.integers(0, 4, len(X))]
    X[:, 14:] = np.eye(40)[np.r_[np.arange(40), rng.integers(0, 40, len(X) - 40)]]
    network = make_network(2, (54, 20, 7), spread=0.1, bias=0.1)
    poly = n2p.convert(network, 3)
    path = n2p.report(poly, network, X, path=folder / "covertype.html")
    return Made(path, poly, X)


@pytest.fixture(scope="session")
def far_off(folder, make_network):
    """A classifier on a factor and numbers, with one row far from all others."""
    rng = np.random.default_rng(9)
    levels = np.eye(3)[rng.integers(0, 3, 80)]
    X = np.hstack([levels, np.zeros((80, 1)), rng.normal(size=(80, 1))])
    X[[4, 7], 4] = [500.0, -0.2]
    names = ["job_type_clerk", "job_type_cook", "job_type_driver", "unused", "age.in_years=z"]
    layers = make_network(9, (5, 4, 1), spread=0.2).layers
    network = n2p.Network(layers, link="sigmoid", classes=("no", "yes")).named(names, ["yes"])
    poly = n2p.convert(network, 2)
    path = n2p.report(poly, network, X, path=folder / "far_off.html")
    return Made(path, poly, X)


@pytest.fixture(scope="session")
def curved(folder, make_network):
    """Columns that enter as a logarithm, as that of 1 + x and as a rank."""
    rng = np.random.default_rng(3)
    gain = np.where(rng.random(400) < 0.5, 0.0, rng.exponential(2.0, 400))
    X = np.column_stack([rng.lognormal(size=400), rng.normal(size=400), gain])
    network = make_network(3, (3, 6, 1)).named(["size", "heat", "gain"], ["y"])
    transforms = {"size": "log", "heat": "rank", "gain": "log1p"}
    poly = n2p.convert(network, 2, data=X, transforms=transforms)
    path = n2p.report(poly, network, X, path=folder / "curved.html")
    return Made(path, poly, X)


@pytest.fixture(scope="session")
def powered(folder):
    """Columns that enter as powers, of both signs and of one."""
    functions = YeoJohnson(-2.0, 9.0, 0.3), YeoJohnson(0.0, 5.0, 0.0), BoxCox(0.25, 4.0, -0.7)
    columns = [
        Column(name, coordinates=(Coordinate(0.5, 2.0, function),))
        for name, function in zip("abc", functions, strict=True)
    ]
    rng = np.random.default_rng(5)
    X = rng.uniform([-3.0, 0.0, 0.1], [10.0, 6.0, 5.0], (200, 3))
    inputs = Inputs(tuple(columns)).seen(X.min(axis=0), X.max(axis=0))
    poly = n2p.Polynomial(rng.normal(size=(10, 1)), 2, inputs=inputs)
    return Made(n2p.report(poly, None, X, path=folder / "powered.html"), poly, X)


@pytest.fixture(scope="session")
def spouses(folder):
    """A factor of long levels that begin and end alike, one of them empty, and a yes/no."""
    levels = ["Married-civ-spouse", "Married-AF-spouse", ""]
    status = Column.factor("marital-status", levels)
    inputs = Inputs((status, Column("member", "binary"), Column("age")))
    inputs = inputs.seen([0.0, 0, 0, 0, 20.0], [1.0, 1, 1, 1, 70.0])
    rng = np.random.default_rng(6)
    X = np.column_stack(
        [np.eye(3)[np.arange(60) % 3], np.arange(60) // 3 % 2, rng.uniform(20, 70, 60)]
    )
    poly = n2p.Polynomial([[1.0], [2.0], [-1.5], [0.5], [0.001], [0.1]], 1, inputs=inputs)
    return Made(n2p.report(poly, None, X, path=folder / "spouses.html"), poly, X)


@pytest.fixture(scope="session")
def rentals(folder):
    """Four regions by hand, of a bounded number, a yes/no, a factor and another number."""
    hour = Column("hour", coordinates=(Coordinate(12.0, 5.0, Identity(1.0, 22.0)),))
    weather = Column.factor("weather", ["clear", "rain", "snow"])
    inputs = Inputs((hour, Column("working_day", "binary"), weather, Column("temp.out")))
    inputs = inputs.seen([0.0, 0, 0, 0, 0, -5.0], [23.0, 1, 1, 1, 1, 35.0])
    rng = np.random.default_rng(10)
    polys = tuple(n2p.Polynomial(rng.normal(size=(28, 1)), 2, inputs=inputs) for _ in range(4))
    wet = Split(2, levels=(1, 2), left=Leaf(1), right=Leaf(2))
    day = Split(1, levels=(1,), left=wet, right=Leaf(3))
    tree = Split(0, 6.5, left=Leaf(0), right=day)
    poly = n2p.PiecewisePolynomial(tree, polys, (30, 40, 50, 60), (0.9, 0.91, 0.92, 0.93))
    X = np.column_stack(
        [
            rng.integers(0, 24, 200),
            rng.integers(0, 2, 200),
            np.eye(3)[rng.integers(0, 3, 200)],
            rng.uniform(-5, 35, 200),
        ]
    ).astype(float)
    path = n2p.report(poly, None, X, path=folder / "rentals.html", title="Rentals")
    return Made(path, poly, X)


@pytest.fixture(scope="session")
def kinked(folder):
    """A classifier of three classes with awkward names, in regions that a conversion found."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(900, 3))
    hidden = n2p.Layer(rng.normal(size=(3, 12)), rng.normal(size=12), "relu")
    layers = [hidden, n2p.Layer(rng.normal(size=(12, 3)), np.zeros(3))]
    classes = ("<b>a</b>", "b & c", "d")
    network = n2p.Network(layers, link="softmax", classes=classes).named(AWKWARD[:3], classes)
    poly = n2p.convert(network, 1, data=X, regions=5)
    labels = poly.predict_label(X)
    path = n2p.report(poly, network, X, labels, folder / "kinked.html", title="</title>")
    return Made(path, poly, X, labels)
