"""The page in a notebook: what the widget passes on between the page and the program, without a notebook."""

from __future__ import annotations

import io
import json
import queue
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dermis
from conftest import WALK
from dermis.notebook import Studio


class Page:
    """The other end of a widget: what its view does."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        self.heard: queue.Queue[tuple[dict[str, Any], list[bytes]]] = queue.Queue()
        studio._send = lambda message, buffers=(): self.heard.put((message, [bytes(b) for b in buffers]))

    def say(self, message: dict[str, Any], *buffers: bytes) -> None:
        self.studio._hear(self.studio, message, list(buffers))

    def hear(self) -> tuple[dict[str, Any], list[bytes]]:
        return self.heard.get(timeout=60)

    def connect(self, link: str) -> None:
        self.say({"connect": link})
        assert self.hear()[0] == {"link": link, "open": True}

    def ask(self, link: str, number: int, **job: Any) -> Any:
        """Asks for a job, and returns what came of it, and its bytes."""
        self.say({"link": link, "text": json.dumps({"id": number, **job})})
        while True:
            told = json.loads(self.hear()[0]["text"])
            if told.get("id") == number:
                break
        assert "failed" not in told, told
        parts = [self.hear()[1][0] for _ in told.get("parts", [])]
        return (told["done"], parts) if parts else told["done"]


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    studio = dermis.studio(WALK, into=tmp_path / "saved")
    yield Page(studio)
    studio.close()
    # The program takes its files away.
    for _ in range(200):
        if not list(place.glob("dermis-studio-*")):
            return
        time.sleep(0.05)
    raise AssertionError(f"{list(place.iterdir())} were left")


def test_the_page_and_the_program_hear_each_other(page: Page) -> None:
    page.say({"page": True})
    assert page.hear()[0]["page"].startswith("<!doctype html>")
    page.connect("a")
    assert page.ask("a", 1, open=None)["named"] == [Path(WALK).name]
    [told] = page.ask("a", 2, run={"inspect": {"files": [{"file": Path(WALK).name}]}})["outcome"]
    assert told["skeleton"]["bones"] > 10
    # Bytes cross in pieces, both ways.
    given = bytes(range(256)) * 1000
    page.say({"link": "a", "text": json.dumps({"id": 3, "put": [["x", {"$bytes": 0}]], "parts": [len(given)]})})
    page.say({"link": "a"}, given[:1000])
    page.say({"link": "a"}, given[1000:])
    assert json.loads(page.hear()[0]["text"]) == {"id": 3, "done": None}
    assert page.ask("a", 4, take="x")[1] == [given]


def test_a_page_that_left_is_followed_by_another(page: Page) -> None:
    page.connect("a")
    page.say({"leave": "a"})
    page.connect("b")
    assert page.ask("b", 1, open=None)["named"] == [Path(WALK).name]
    # One page at a time; the program says so.
    page.say({"connect": "c"})
    told = page.hear()[0]
    assert told == {"link": "c", "open": True}
    assert "Another page" in page.hear()[0]["closed"]
    # The program ends with its page; the next one finds it anew.
    page.say({"leave": "b"})
    program = page.studio._program
    assert program is not None
    for _ in range(200):
        if not program.runs:
            break
        time.sleep(0.1)
    assert not program.runs
    page.connect("d")
    assert page.ask("d", 1, open=None)["named"] == [Path(WALK).name]


def test_what_is_saved_takes_no_other_files_place(page: Page, tmp_path: Path) -> None:
    for content, name in [(b"one", "m.glb"), (b"two", "m (2).glb"), (b"", "m (3).glb")]:
        page.say({"save": "../m.glb", "length": len(content)})
        for at in range(len(content)):
            page.say({"saving": "../m.glb"}, content[at : at + 1])
        assert name in page.hear()[0]["saved"]
        assert (tmp_path / "saved" / name).read_bytes() == content
    assert [path.name for path in page.studio.saved] == ["m.glb", "m (2).glb", "m (3).glb"]


def archive(folder: Path, more: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as files:
        for path in folder.rglob("*"):
            if path.is_file() and not path.name.startswith(".") and path.name != "more.txt":
                files.write(path, f"{folder.name}/{path.relative_to(folder)}")
        files.writestr(f"{folder.name}/more.txt", more)
    return packed.getvalue()


def test_a_session_is_written_back_unless_it_changed(tmp_path: Path) -> None:
    session = dermis.Session.new(WALK, tmp_path / "s.session", motions=WALK)
    studio = session.studio(into=tmp_path)
    page = Page(studio)
    try:
        for text in ("first", "second"):
            content = archive(tmp_path / "s.session", text)
            page.say({"save": "s.session.zip", "length": len(content)})
            page.say({"saving": "s.session.zip"}, content)
            assert page.hear()[0]["saved"].endswith("s.session")
            assert (tmp_path / "s.session/more.txt").read_text() == text
            session.status()
        page.say({"save": "s.session.zip", "length": 1})
        page.say({"saving": "s.session.zip"}, b"x")
        assert "is not saved" in page.hear()[0]["saved"]
        assert (tmp_path / "s.session/more.txt").read_text() == "second"
        # Somebody else learnt meanwhile.
        state = tmp_path / "s.session/session.json"
        state.write_text(state.read_text() + "\n")
        content = archive(tmp_path / "s.session", "third")
        page.say({"save": "s.session.zip", "length": len(content)})
        page.say({"saving": "s.session.zip"}, content)
        assert page.hear()[0]["saved"].endswith("s.session.zip")
        assert (tmp_path / "s.session/more.txt").read_text() == "second"
    finally:
        studio.close()
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(dermis.Error, match="nothing.glb"):
        dermis.studio(tmp_path / "nothing.glb")
