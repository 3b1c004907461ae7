"""Record the what-if panel of the sample report as ``docs/images/what-if.gif``.

Run ``python docs/make_recording.py`` when the panel changes. Needs Chromium, playwright and Pillow.
"""

from __future__ import annotations

import shutil
import sys
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hooks import sample_report
from PIL import Image
from playwright.sync_api import sync_playwright

OUT = Path(__file__).parent / "images" / "what-if.gif"
# Columns that are moved one after the other, and where to: shares of the way along their slider.
JOURNEY = {"bmi": (0.9, 0.6), "blood pressure": (0.85,), "HDL": (0.15,)}
STEPS, MILLISECONDS, REST = 6, 90, 900
VIEW = {"width": 1000, "height": 760}
WIDTH, COLOURS = 680, 64
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
SHARE = "slider => (slider.value - slider.min) / (slider.max - slider.min)"
MOVE = """(slider, share) => {
  slider.value = Number(slider.min) + share * (slider.max - slider.min);
  slider.dispatchEvent(new Event("input", {bubbles: true}));
}"""


def main() -> None:
    """Write the recording, and say how large it is."""
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "report.html"
        page_file.write_text(sample_report(), encoding="utf-8")
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=ARGUMENTS
        )
        page = browser.new_page(viewport=VIEW, color_scheme="light")
        page.goto(page_file.as_uri())
        for _ in range(2):  # charts that are drawn on the way move the panel
            page.locator("#what-if").evaluate("panel => panel.scrollIntoView()")
            page.wait_for_timeout(1500)
        frames = record(page)
        browser.close()
    first, *others = (image for image, _ in frames)
    durations = [duration for _, duration in frames]
    first.save(OUT, save_all=True, append_images=others, duration=durations, loop=0, optimize=True)
    print(f"{OUT.name}: {len(frames)} pictures, {OUT.stat().st_size / 1e3:.0f} kB", file=sys.stderr)


def record(page: Any) -> list[tuple[Image.Image, int]]:
    """Move the sliders in small steps, and give a picture and its time for each."""
    frames = [(picture(page), REST)]
    for column, stops in JOURNEY.items():
        slider = page.get_by_label(f"{column}, slider", exact=True)
        for end in stops:
            begin = slider.evaluate(SHARE)
            for step in range(1, STEPS + 1):
                slider.evaluate(MOVE, begin + (end - begin) * step / STEPS)
                page.wait_for_timeout(100)
                frames.append((picture(page), REST if step == STEPS else MILLISECONDS))
    return frames


def picture(page: Any) -> Image.Image:
    """Give what the window shows, in few colours."""
    image = Image.open(BytesIO(page.screenshot())).convert("RGB")
    size = WIDTH, round(image.height * WIDTH / image.width)
    small = image.resize(size, Image.Resampling.LANCZOS)
    return small.quantize(COLOURS, dither=Image.Dither.NONE)


if __name__ == "__main__":
    main()
