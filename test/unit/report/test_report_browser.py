"""The page in a browser: no errors, no requests, every width, both schemes, mouse and keyboard, with scripts and without.

Needs playwright (an optional wheel) and Debian's chromium.
"""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_report_page import poisoned

from prism_mlir.tools.prism import main

pytestmark = pytest.mark.extras
CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SLOW = 120_000  # milliseconds; machines may be busy


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not Path(CHROMIUM).exists():
        pytest.skip("there is no chromium (apt-get install chromium)")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=SLOW)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def path(compiled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("browser") / "page.html"
    assert main(["report", str(compiled), "-o", str(made), "-q"]) == 0
    return made


class Visit:
    """An open page, and what went wrong on it."""

    def __init__(
        self, browser: Any, path: Path, width: int = 1280, scheme: str = "light", scripts: bool = True
    ) -> None:
        size = {"width": width, "height": 900}
        self.context = browser.new_context(viewport=size, color_scheme=scheme, java_script_enabled=scripts)
        self.page = self.context.new_page()
        self.page.set_default_timeout(SLOW)
        self.wrong: list[str] = []
        self.page.on("console", lambda m: self.wrong.append(f"console: {m.text}"))
        self.page.on("pageerror", lambda e: self.wrong.append(f"error: {e}"))
        self.page.on("dialog", lambda d: self.wrong.append(f"dialog: {d.message}"))
        self.page.on("request", self._request)
        self.address = path.as_uri()
        self.page.goto(self.address)

    def _request(self, request: Any) -> None:
        if request.url.partition("#")[0] != self.address and not request.url.startswith("data:"):
            self.wrong.append(f"request: {request.url}")

    def __enter__(self) -> Visit:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()

    def background(self) -> str:
        return str(self.page.evaluate("getComputedStyle(document.body).backgroundColor"))

    def overflow(self) -> int:
        """Pixels by which the page is wider than the window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def is_drawn(png: bytes) -> bool:
    """Whether a picture has more than a few colours: PNG, its compressed rows put together."""
    at, rows = 8, b""
    while at < len(png):
        length = int.from_bytes(png[at : at + 4], "big")
        if png[at + 4 : at + 8] == b"IDAT":
            rows += png[at + 8 : at + 8 + length]
        at += 12 + length
    return len(set(zlib.decompress(rows))) > 64


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 768, 1280, 1920])
def test_the_page_is_drawn_at_every_width(browser: Any, path: Path, width: int, scheme: str, tmp_path: Path) -> None:
    with Visit(browser, path, width, scheme) as visit:
        assert visit.overflow() <= 0
        visit.page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
        assert visit.overflow() <= 0
        shot = visit.page.screenshot(path=tmp_path / f"{scheme}-{width}.png")
        assert is_drawn(shot)
        assert visit.wrong == []


def test_a_blank_picture_is_seen_to_be_one(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "blank.html").write_text("<!DOCTYPE html><title>blank</title>")
    with Visit(browser, tmp_path / "blank.html") as visit:
        assert not is_drawn(visit.page.screenshot())


def test_colours_follow_the_system_and_the_switch(browser: Any, path: Path) -> None:
    with Visit(browser, path, scheme="light") as light, Visit(browser, path, scheme="dark") as dark:
        white, black = light.background(), dark.background()
        assert white != black
        light.page.click("#theme")
        assert light.background() == black
        light.page.reload()
        assert light.background() == black  # it is remembered
        dark.page.click("#theme")
        assert dark.background() == white
        assert light.wrong == [] and dark.wrong == []


def test_the_keyboard_skips_to_the_content_and_walks_through_schedules(browser: Any, path: Path) -> None:
    with Visit(browser, path) as visit:
        page, tip = visit.page, visit.page.locator("#tip")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        assert page.locator(".skip").is_visible()
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"
        page.locator("svg.scatter").focus()
        page.keyboard.press("Home")
        assert tip.inner_text().startswith("rank: 1\n")
        page.keyboard.press("ArrowRight")
        assert tip.inner_text().startswith("rank: 2\n")
        page.keyboard.press("ArrowLeft")
        assert tip.inner_text().startswith("rank: 1\n")
        page.keyboard.press("Escape")
        assert tip.is_hidden()
        assert visit.wrong == []


def test_everything_that_can_be_focused_is_reached_and_seen(browser: Any, path: Path) -> None:
    """Tab by tab through the whole page: each stop is visible and has a name, and the last one leaves the page."""
    with Visit(browser, path) as visit:
        stops = []
        for _ in range(400):
            visit.page.keyboard.press("Tab")
            stop = visit.page.evaluate(
                """() => { const e = document.activeElement, box = e.getBoundingClientRect();
                return e === document.body ? null : { tag: e.tagName, seen: box.width > 0 && box.height > 0,
                  name: (e.getAttribute("aria-label") || e.textContent).trim().length > 0 }; }"""
            )
            if stop is None:
                break
            stops.append(stop)
        assert 20 < len(stops) < 400
        assert [s for s in stops if not (s["seen"] and s["name"])] == []
        assert {"A", "BUTTON", "SUMMARY", "svg", "g"} <= {s["tag"] for s in stops}


def test_tips_show_under_the_pointer(browser: Any, path: Path) -> None:
    with Visit(browser, path) as visit:
        page, tip = visit.page, visit.page.locator("#tip")
        page.locator("svg.scatter .chosen").hover()
        assert "limited by: " in tip.inner_text()
        mark = page.locator("svg.memory .mark").first
        mark.hover()
        assert tip.inner_text() == mark.get_attribute("aria-label")
        page.mouse.move(2, 2)
        assert tip.is_hidden()
        assert visit.wrong == []


def test_a_link_to_a_line_opens_where_it_is_folded(browser: Any, path: Path) -> None:
    with Visit(browser, path) as visit:
        page = visit.page
        page.evaluate("for (const d of document.querySelectorAll('details')) d.open = false")
        link = page.locator(".hot a").first
        target = page.locator(str(link.get_attribute("href")))
        assert target.is_hidden()
        link.click()
        assert target.is_visible()


def test_the_page_is_whole_without_scripts(browser: Any, path: Path) -> None:
    with Visit(browser, path, scripts=False) as visit:
        page = visit.page
        assert page.locator("#theme").is_hidden()
        assert all(section.is_visible() for section in page.locator("main section").all())
        assert page.locator("svg.scatter .chosen").is_visible()
        page.locator("#accuracy").scroll_into_view_if_needed()
        assert is_drawn(page.screenshot())
        assert visit.wrong == []


def test_print_leaves_out_what_is_for_the_screen(browser: Any, path: Path) -> None:
    with Visit(browser, path, scheme="dark") as visit:
        visit.page.emulate_media(media="print")
        assert visit.page.locator("nav").is_hidden() and visit.page.locator("#theme").is_hidden()
        assert visit.page.locator("#roofline").is_visible()
        assert visit.background() == "rgb(255, 255, 255)"
        assert visit.page.pdf()[:5] == b"%PDF-"


def test_hostile_strings_run_nothing(browser: Any, compiled: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(compiled, tmp_path / "out"))
    for name in ("report.json", "details.json"):
        file = folder / name
        file.write_text(json.dumps(poisoned(json.loads(file.read_text()))))
    assert main(["report", str(folder), "-q"]) == 0
    with Visit(browser, folder / "report.html", 360) as visit:
        assert visit.overflow() <= 0
        visit.page.locator("svg.scatter").focus()
        visit.page.keyboard.press("Home")
        assert visit.page.locator("img").count() == 0
        assert visit.wrong == []
