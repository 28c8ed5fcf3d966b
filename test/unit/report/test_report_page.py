"""The page from a folder: whole, damaged, partial, or hostile."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import html5lib
import pytest
from report_inputs import DETAILS, REPORT, changed

from prism_mlir.report.page import asset
from prism_mlir.tools.prism import main

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&lt;{{ 7*7 }}"
SECTIONS = [
    "summary",
    "program",
    "funnel",
    "graphs",
    "evidence",
    "schedules",
    "memory",
    "pipeline",
    "ptx",
    "roofline",
    "comparison",
    "accuracy",
    "files",
]


@pytest.fixture
def folder(compiled: Path, tmp_path: Path) -> Path:
    """A copy to change."""
    return Path(shutil.copytree(compiled, tmp_path / "out"))


@pytest.fixture(scope="module")
def page(compiled: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "page.html"
    assert main(["report", str(compiled), "-o", str(path), "-q"]) == 0
    return path.read_text()


def parsed(page: str) -> Any:
    """The page as a tree. Raises where it is not well-formed HTML."""
    parser = html5lib.HTMLParser(tree=html5lib.getTreeBuilder("etree"), strict=True, namespaceHTMLElements=False)
    return parser.parse(page)


def report_of(folder: Path, *options: str) -> str:
    assert main(["report", str(folder), "-q", "--no-counters", *options]) == 0
    return (folder / "report.html").read_text()


def edit(folder: Path, name: str, change: Callable[[Any], Any]) -> None:
    path = folder / name
    path.write_text(json.dumps(change(json.loads(path.read_text()))))


# -- the whole page -------------------------------------------------------------------------------------------------


def test_the_page_is_well_formed_and_has_every_section(page: str) -> None:
    tree = parsed(page)
    assert [s.get("id") for s in tree.iter("section")] == SECTIONS
    assert "This section is missing" not in page


def test_ids_are_unique_and_links_lead_somewhere(page: str) -> None:
    tree = parsed(page)
    ids = [e.get("id") for e in tree.iter() if e.get("id")]
    assert len(ids) == len(set(ids))
    links = {e.get("href") for e in tree.iter("a")}
    assert links and all(link.startswith("#") and link[1:] in ids for link in links)
    labels = {e.get("aria-labelledby") for e in tree.iter() if e.get("aria-labelledby")}
    assert labels <= set(ids)


def test_nothing_is_loaded_from_elsewhere(page: str) -> None:
    tree = parsed(page)
    assert not [e for e in tree.iter() if e.get("src")]
    assert [e.get("href") for e in tree.iter("link")] == ["data:,"]
    assert "url(" not in asset("report.css") and "@import" not in asset("report.css")
    assert not re.search(r"fetch\(|XMLHttpRequest|import\(|https?://", asset("report.js"))
    policy = next(e.get("content") for e in tree.iter("meta") if e.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy
    assert not [e for e in tree.iter() if e.get("style") or any(a.startswith("on") for a in e.attrib)]


def test_what_the_page_draws_can_be_heard(page: str) -> None:
    for drawing in parsed(page).iter("svg"):
        assert drawing.get("aria-label") or drawing.get("aria-hidden") == "true"


def test_headings_go_down_one_level_at_a_time(page: str) -> None:
    levels = [int(e.tag[1]) for e in parsed(page).iter() if e.tag in ("h1", "h2", "h3", "h4", "h5")]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b <= a + 1 for a, b in zip(levels, levels[1:], strict=False))  # noqa: RUF007


def test_the_same_folder_gives_the_same_bytes(compiled: Path, page: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(compiled), "-o", "-"]) == 0
    assert capsys.readouterr().out == page


def test_the_page_stays_small(page: str) -> None:
    assert len(page.encode()) < 1_000_000


def test_2000_schedules_and_48_graphs_stay_under_two_megabytes(folder: Path) -> None:
    def grow(details: Any) -> Any:
        (part,) = details["parts"]
        first, rows = part["graphs"][0], part["ranking"]["rows"]
        part["ranking"]["rows"] = (rows * (2000 // len(rows) + 1))[:2000]
        part["graphs"] += [first] * (48 - len(part["graphs"]))
        return details

    edit(folder, "details.json", grow)
    assert len(report_of(folder).encode()) < 2_000_000


def test_counters_stand_beside_the_lines(compiled: Path, page: str) -> None:
    """What the machine counts in one block; the listing has every line of the file once."""
    lines = next(p for p in compiled.glob("*.ptx")).read_text().splitlines()
    assert len(re.findall(r'<tr id="ptx-\d+"', page)) == len(lines)
    issued = re.search(r"<dt>instructions of warps</dt><dd>([\d,]+)", page)
    assert issued is not None and int(issued[1].replace(",", "")) > 0


def test_the_inputs_of_the_other_tests_are_like_what_is_written(compiled: Path) -> None:
    """Whatever the hand-written compilation has, a real one has as well."""

    def paths(value: Any, at: str = "") -> set[str]:
        free = at.endswith(("sizes", "counts", "rejected", "versions", "seconds", "limits", "copies", "grid", "loop"))
        if isinstance(value, dict) and not free:
            return {at} | {p for name, v in value.items() for p in paths(v, f"{at}.{name}")}
        if isinstance(value, list) and not at.endswith("rows"):
            return {at} | {p for v in value for p in paths(v, f"{at}[]")}
        return {at}

    for name, ours in (("report.json", REPORT), ("details.json", DETAILS)):
        theirs = json.loads((compiled / name).read_text())
        missing = paths(ours) - paths(theirs)
        # not in every compilation: what a schedule, a softmax or a certificate adds
        assert {m for m in missing if not re.search(r"orientation|sizes_tried|monoid|\.fn$|\.dim$|profile", m)} == set()


# -- hostile strings ------------------------------------------------------------------------------------------------

FREE_TEXT = {
    "name",
    "source",
    "description",
    "reason",
    "text",
    "limiter",
    "op",
    "entry",
    "inputs",
    "output",
    "dtype",
    "arch",
}


def poisoned(value: Any, key: str = "", spare: bool = False) -> Any:
    """JSON data whose free texts are an attack. Graphs are left alone: what is none is refused (another test)."""
    if isinstance(value, dict):
        return {
            k: poisoned(v, k, spare or (k in ("graph", "code") and isinstance(v, dict) and "nodes" in v))
            for k, v in value.items()
        }
    if isinstance(value, list):
        return [poisoned(v, key, spare) for v in value]
    if isinstance(value, str) and not spare and (key in FREE_TEXT or key in ("rules_fired", "operators", "stopped_by")):
        return value + EVIL
    return value


def test_hostile_strings_are_text(folder: Path, page: str) -> None:
    for name in ("report.json", "details.json", "launch.json"):
        edit(folder, name, poisoned)
    (ptx,) = folder.glob("*.ptx")
    ptx.write_text(ptx.read_text() + f"// {EVIL}\n")
    hostile = report_of(folder)
    tree, before = parsed(hostile), parsed(page)
    assert not list(tree.iter("img"))
    assert len(list(tree.iter("script"))) == len(list(before.iter("script")))
    assert not [e for e in tree.iter() if any(a.startswith("on") for a in e.attrib)]
    assert "{{ 7*7 }}" in hostile and "<script>alert" not in hostile
    title = next(tree.iter("h1"))
    assert EVIL in (title.text or "")
    assert [s.get("id") for s in tree.iter("section")] == SECTIONS


# -- partial and damaged folders ------------------------------------------------------------------------------------


def missing(page: str) -> dict[str, str]:
    """Sections that say that they are missing, and why."""
    found = {}
    for section in parsed(page).iter("section"):
        for p in section.iter("p"):
            if p.get("class") == "missing":
                found[section.get("id")] = "".join(p.itertext())
    return found


def test_an_older_folder_without_details_shows_the_rest(folder: Path) -> None:
    (folder / "details.json").unlink()
    gone = missing(report_of(folder))
    assert set(gone) == {"program", "graphs", "schedules", "memory", "pipeline", "roofline", "comparison"}
    assert set(gone.values()) == {"This section is missing: the folder has no details.json."}


def test_a_folder_without_ptx_shows_the_rest(folder: Path) -> None:
    (ptx,) = folder.glob("*.ptx")
    ptx.unlink()
    assert set(missing(report_of(folder))) == {"ptx"}


@pytest.mark.parametrize("name", ["details.json", "launch.json", "certificate.json"])
@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\xfe", b"[1, 2]", b"{}", b'{"format": "prism details 9"}', b"[" * 100_000]
)
def test_a_damaged_file_costs_its_sections_alone(folder: Path, name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)
    page = report_of(folder)
    assert "funnel" not in missing(page) and "accuracy" not in missing(page)
    if name == "details.json":
        assert "details.json cannot be used" in page


@pytest.mark.parametrize(
    ("path", "value", "sections"),
    [
        ("target", 5, {"roofline", "memory", "schedules", "comparison"}),
        ("parts.0.kernels", None, {"memory", "pipeline", "roofline", "comparison"}),
        ("parts.0.kernels.0.tiles", "none", {"memory"}),
        ("parts.0.graphs", [], {"graphs", "schedules"}),
        ("parts.0.code.nodes", 7, {"graphs", "memory", "pipeline"}),
        ("parts.0.ranking.rows", [[]], {"graphs", "schedules"}),
        ("program.nodes.0.operands", [99], {"program"}),
        ("roofline.total_us", "fast", {"roofline"}),
    ],
)
def test_a_wrong_field_costs_its_sections_alone(folder: Path, path: str, value: Any, sections: set[str]) -> None:
    edit(folder, "details.json", lambda details: changed(details, path, value))
    gone = missing(report_of(folder))
    assert set(gone) == sections
    assert all("details.json: " in reason for reason in gone.values())


@pytest.mark.parametrize(
    "drop", ["versions", "parts", "program", "target", "accuracy", "kernels", "source", "checked before"]
)
def test_a_report_that_lacks_what_every_report_has_is_an_error(
    folder: Path, drop: str, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(folder, "report.json", lambda report: {k: v for k, v in report.items() if k != drop})
    assert main(["report", str(folder)]) == 1
    error = capsys.readouterr().err
    assert re.fullmatch(r".*/out/report\.json:1:1: error: .*compile .*again\n", error), error
    assert not (folder / "report.html").exists()


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[1, 2]", b"{}", b'{"versions": 3}', b"[" * 100_000])
def test_a_damaged_report_is_a_located_error(folder: Path, content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "report.json").write_bytes(content)
    assert main(["report", str(folder)]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"{folder}/report.json:1:") and error.count("\n") == 1


def test_a_file_name_that_leads_elsewhere_is_not_followed(folder: Path) -> None:
    (folder.parent / "secret.ptx").write_text("// a secret")
    edit(folder, "launch.json", lambda launch: changed(launch, "kernels.0.ptx", "../secret.ptx"))
    page = report_of(folder)
    assert "a secret" not in page and "this is no file of the folder" in missing(page)["ptx"]


def test_a_launch_with_huge_arguments_is_not_run(folder: Path) -> None:
    edit(folder, "launch.json", lambda launch: changed(launch, "kernels.0.arguments.0.shape.0", 2**40))
    assert main(["report", str(folder), "-q"]) == 0
    assert "was not counted: error: its arguments have" in (folder / "report.html").read_text()


def test_ptx_that_is_none_is_shown_without_counters(folder: Path) -> None:
    (ptx,) = folder.glob("*.ptx")
    ptx.write_text("this is no PTX\n")
    assert main(["report", str(folder), "-q"]) == 0
    page = (folder / "report.html").read_text()
    assert "was not counted: " in page and "this is no PTX" in page and "ptx" not in missing(page)


# -- the command ----------------------------------------------------------------------------------------------------


def test_the_command_says_what_it_wrote_and_what_is_missing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "details.json").unlink()
    assert main(["report", str(folder), "--no-counters"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == "missing  the folder has no details.json"
    assert second.startswith(f"wrote    {folder}/report.html (")


def test_json_says_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(folder), "--no-counters", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["schema"] == "prism.report" and said["missing"] == {}
    assert said["bytes"] == (folder / "report.html").stat().st_size


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["{out}/nowhere"], 1, "there is no such folder"),
        (["{out}/report.json"], 1, "this is no folder"),
        (["{out}/empty"], 1, "the folder has no report.json"),
        (["{out}", "-o", "{out}/nowhere/page.html"], 1, "/page.html': No such directory"),
        (["{out}", "-o", "{out}"], 1, "': Is a directory"),
        (["{out}", "--certificate", "{out}/launch.json"], 1, "the file is not of the form 'prism certificate 1'"),
        (["{out}", "--certificate", "{out}/nowhere.json"], 1, "nowhere.json': No such file"),
        (["{out}", "-o", "-", "--json"], 2, "both want standard output"),
        ([], 2, "Missing argument"),
    ],
)
def test_what_a_user_can_get_wrong_is_one_line(
    folder: Path, arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "empty").mkdir()
    assert main(["report", *(a.format(out=folder) for a in arguments)]) == code
    said = capsys.readouterr()
    assert message in said.err and said.err.count("\n") == 1 and said.out == ""
    assert not (folder / "report.html").exists()


def test_islands_have_pages_of_their_own(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = tmp_path / "whole"
    shutil.copytree(folder, whole / "first")
    shutil.copytree(folder, whole / "second")
    (whole / "report.json").write_text(json.dumps({"islands": [{}, {}], "versions": {}}))
    assert main(["report", str(whole)]) == 1
    assert f"each with a page of its own, name one of {whole}/first, {whole}/second\n" in capsys.readouterr().err
    assert main(["report", str(whole / "first"), "-q", "--no-counters"]) == 0


def test_a_page_that_is_there_is_replaced_whole(folder: Path) -> None:
    (folder / "report.html").write_text("old")
    assert report_of(folder).startswith("<!DOCTYPE html>")
    assert [p.name for p in folder.iterdir() if p.name.startswith(".")] == []


# -- colours --------------------------------------------------------------------------------------------------------


def colours() -> dict[str, tuple[str, str]]:
    """Name -> light and dark value."""
    found = re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", asset("report.css"))
    return {name: (light, dark) for name, light, dark in found}


def luminance(colour: str) -> float:
    """WCAG 2.2, "relative luminance"."""
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_computed_as_wcag_says() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)  # the well-known grey that just fails


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_has_the_contrast_of_level_aa(scheme: int) -> None:
    """4.5 to 1 for text, 3 to 1 for what one must see to use the page (WCAG 2.2, 1.4.3 and 1.4.11)."""
    named = {name: pair[scheme] for name, pair in colours().items()}
    grounds = ("paper", "sheet", "sunken")
    text = [(t, g) for t in ("ink", "soft", "accent") for g in grounds] + [
        (t, g) for t in ("good", "bad", "chosen", "once") for g in ("sheet", f"{t}-tint")
    ]
    text += [("ink", g) for g in ("accent-tint", "chosen-tint", "good-tint", "once-tint")]
    text += [("soft", g) for g in ("accent-tint", "good-tint", "once-tint", "chosen-tint")]
    assert {
        pair: round(contrast(named[pair[0]], named[pair[1]]), 2)
        for pair in text
        if contrast(named[pair[0]], named[pair[1]]) < 4.5
    } == {}
    parts = [
        ("focus", "sheet"),
        ("focus", "sunken"),
        ("accent-fill", "sheet"),
        ("chosen", "sheet"),
        ("accent", "accent-tint"),
    ]
    assert {pair for pair in parts if contrast(named[pair[0]], named[pair[1]]) < 3} == set()
