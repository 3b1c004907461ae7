"""Record the what-if panel of a report as a short loop.

Run ``python docs/make_recording.py``; it needs Chromium, playwright and Pillow, and writes
``docs/images/what-if.gif``. The report is of the polynomial of house prices in California that the
gallery shows. Two inputs move to other values and back.
"""

from __future__ import annotations

import shutil
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image

import nn2poly as n2p

FILE = Path(__file__).resolve().parent / "images" / "what-if.gif"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
]
NAMES = ["income", "house age", "rooms", "bedrooms", "population", "occupants"]
NAMES += ["latitude", "longitude"]
# Inputs that move, and to which share of their sliders: where there are rows.
MOVES = {"income": 0.64, "occupants": 0.34}
# Pixels of a frame, and from its top to the first input that moves; milliseconds of a frame.
WIDTH, HEIGHT, ABOVE, DURATION = 900, 560, 170, 110
# Frames of a move and of a pause, colours, and bytes of the file at most.
MOVING, RESTING, COLORS, LARGEST = 10, 3, 64, 1_500_000

# What the page does: move a slider to a share of its range, and a ring to its thumb.
SLIDE = """(slider, share) => {
  const low = Number(slider.min), high = Number(slider.max);
  slider.value = low + share * (high - low);
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  slider.dispatchEvent(new Event("change", { bubbles: true }));
  const ring = document.getElementById("recording-ring") ?? document.createElement("div");
  ring.id = "recording-ring";
  const box = slider.getBoundingClientRect(), thumb = 16;
  Object.assign(ring.style, {
    position: "fixed", width: "30px", height: "30px", borderRadius: "50%", zIndex: 99,
    border: "2px solid #D55E00", boxSizing: "border-box", pointerEvents: "none",
    left: `${box.left + thumb / 2 + share * (box.width - thumb) - 15}px`,
    top: `${box.top + box.height / 2 - 15}px`,
  });
  document.body.append(ring);
}"""
SHARE = "s => (Number(s.value) - Number(s.min)) / (Number(s.max) - Number(s.min))"
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
SCROLL = (
    "(s, y) => window.scrollBy({ top: s.getBoundingClientRect().top - y, behavior: 'instant' })"
)


def write_report(folder: Path) -> Path:
    """Train a network of house prices, convert it, and write its report."""
    from shapiq.datasets import load_california_housing
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = load_california_housing()
    X.columns = NAMES
    usual = X.lt(X.quantile(0.99)).all(axis=1)
    X, y = X[usual], y[usual]
    network = MLPRegressor(
        hidden_layer_sizes=(20,), activation="tanh", alpha=1.0, learning_rate_init=0.01,
        early_stopping=True, random_state=0,
    )  # fmt: skip
    model = make_pipeline(StandardScaler(), network).fit(X, y)
    poly = n2p.convert(model, max_order=3, data=X, output_names=["price"])
    return n2p.report(poly, model, X, y, path=folder / "report.html", title="House prices")


def find_slider(page: Any, name: str) -> Any:
    """Find the slider of an input in the panel by the words that a screen reader says."""
    sliders = page.locator("#what-if input[type=range]").all()
    named = [each for each in sliders if (each.get_attribute("aria-label") or "").startswith(name)]
    if len(named) != 1:
        raise SystemExit(f"the panel has {len(named)} sliders for {name!r}, of {len(sliders)}")
    return named[0]


def eased(begin: float, end: float, frames: int) -> list[float]:
    """Go from a number to another, slowly at both ends."""
    steps = [(i + 1) / frames for i in range(frames)]
    return [begin + (end - begin) * (3 * t**2 - 2 * t**3) for t in steps]


def record(page: Any) -> list[Image.Image]:
    """Move the inputs, one after the other, and back, and take a picture of each step."""
    sliders = {name: find_slider(page, name) for name in MOVES}
    starts = {name: slider.evaluate(SHARE) for name, slider in sliders.items()}
    next(iter(sliders.values())).evaluate(SCROLL, ABOVE)
    frames: list[Image.Image] = []

    def picture(rest: int = 1) -> None:
        page.evaluate(DRAWN)
        shot = Image.open(BytesIO(page.screenshot())).convert("RGB")
        frames.extend([shot] * rest)

    def move(name: str, begin: float, end: float) -> None:
        for share in eased(begin, end, MOVING):
            sliders[name].evaluate(SLIDE, share)
            picture()
        picture(RESTING)

    picture(RESTING)
    for name, end in MOVES.items():
        move(name, starts[name], end)
    for name, end in reversed(MOVES.items()):
        move(name, end, starts[name])
    return frames


def write_gif(frames: list[Image.Image], file: Path) -> None:
    """Write a loop of few colours, which are those of all frames."""
    every = Image.new("RGB", (WIDTH, HEIGHT * 3))
    for place, i in enumerate((0, len(frames) // 2, len(frames) // 4)):
        every.paste(frames[i], (0, place * HEIGHT))
    palette = every.quantize(COLORS, dither=Image.Dither.NONE)
    few = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    file.parent.mkdir(parents=True, exist_ok=True)
    few[0].save(
        file, save_all=True, append_images=few[1:], duration=DURATION, loop=0, optimize=True
    )
    size = file.stat().st_size
    if size > LARGEST:
        raise SystemExit(f"{file.name} has {size:,} bytes; at most {LARGEST:,}")
    print(
        f"{file.name}: {len(frames)} frames, {len(frames) * DURATION / 1000:.1f} s, {size:,} bytes"
    )


def main() -> None:
    """Make the report, open it, and record its panel."""
    from playwright.sync_api import sync_playwright

    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit(f"no browser: none of {', '.join(BROWSERS)} is installed")
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        report = write_report(Path(folder))
        chromium = playwright.chromium.launch(executable_path=browser, args=ARGUMENTS)
        page = chromium.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(report.as_uri())
        page.wait_for_selector("html[data-ready]")
        frames = record(page)
        chromium.close()
    write_gif(frames, FILE)


if __name__ == "__main__":
    main()
