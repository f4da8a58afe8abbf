"""Takes the pictures of docs/serving.md from a server that browses MUTAG and has two runs:

sargnn serve RUN OTHER --data MUTAG
python docs/make_screenshots.py http://127.0.0.1:8000
"""

from __future__ import annotations

import argparse
import io
import shutil
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

IMAGES = Path(__file__).parent / "images"
DRAWN = ".picture circle[data-node]"
NARROW = 900
"""Pixels; on such a screen the drawing is below the list."""
BROWSING = "view=browse&set=data&graph=3"
COLOURS = 128
"""Of a picture, so that it is small."""


def take(browser: Browser, address: str, name: str, ready: str, width: int, height: int, scheme: str = "light") -> None:
    """One picture of the page at an address, once ``ready`` is on it."""
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector(ready, timeout=120_000)
    page.wait_for_selector(DRAWN, timeout=120_000)
    if width < NARROW:
        page.locator(".panel").evaluate("(panel) => panel.scrollIntoView()")
    page.wait_for_timeout(1000)  # bars grow
    picture = Image.open(io.BytesIO(page.screenshot()))
    picture.convert("RGB").quantize(COLOURS).save(IMAGES / name, optimize=True)
    context.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    address = parser.parse_args().address
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, view, ready, width, height, scheme in (
            ("serving.png", f"{BROWSING}&gone=4.5", ".before", 1240, 900, "light"),
            ("serving-browse.png", f"{BROWSING}&right=false", ".map circle", 1240, 900, "light"),
            ("serving-compare.png", "view=compare&set=data", ".beside .verdict >> nth=1", 1240, 900, "light"),
            ("serving-narrow.png", f"{BROWSING}&gone=4.5", ".before", 390, 900, "dark"),
        ):
            take(browser, f"{address}/#{view}", name, ready, width, height, scheme)
        browser.close()


if __name__ == "__main__":
    main()
