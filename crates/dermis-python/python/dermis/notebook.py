"""The page of `dermis studio` as a widget of a notebook. It takes ``pip install dermis[notebook]``.

The program runs beside the kernel, and the widget passes on what it and the page say, so that a kernel on another machine will do.
"""

from __future__ import annotations

import atexit
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.request
import zipfile
from collections.abc import Callable
from pathlib import Path as FilePath
from typing import Any, Optional, Union

import anywidget
import traitlets
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from ._errors import Error

Path = Union[str, "os.PathLike[str]"]

_ADDRESS = re.compile(r"http://(127\.0\.0\.1:\d+)/\?token=[0-9a-f]+")
_STATE = "session.json"


class _Program:
    """A running `dermis studio`."""

    def __init__(self, files: list[str]) -> None:
        command = [sys.executable, "-m", "dermis", "studio", "--no-open", *files]
        self._faults = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._faults, text=True
        )
        atexit.register(self.end)
        assert self._process.stdout is not None
        found = next((match for line in self._process.stdout if (match := _ADDRESS.search(line))), None)
        if found is None:
            self._process.wait()
            self._faults.seek(0)
            said = self._faults.read().decode(errors="replace").strip()
            raise Error(said.removeprefix("error: ") or "dermis studio did not start")
        self.url, self.address = found[0], found[1]
        # What it says later is read and forgotten, so that it never waits.
        threading.Thread(target=self._process.stdout.read, daemon=True).start()

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    def page(self) -> str:
        """The page that it serves."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(self.url, timeout=30) as answer:
            text: str = answer.read().decode("utf-8")
        return text

    def connect(self) -> ClientConnection:
        """A connection as the page makes one."""
        url = self.url.replace("http://", "ws://", 1)
        return connect(url, origin=Origin(f"http://{self.address}"), max_size=None, compression=None, proxy=None)

    def end(self) -> None:
        """Ends it."""
        atexit.unregister(self.end)
        # Ctrl-C, for then it takes its files away; Windows has none for one process.
        self._process.send_signal(signal.SIGTERM if os.name == "nt" else signal.SIGINT)


#: The widget. Its base has no types, so it is made as it runs.
_View: Any = type(
    "StudioView",
    (anywidget.AnyWidget,),
    {
        "_esm": FilePath(__file__).with_name("_studio.js").read_text(encoding="utf-8"),
        "height": traitlets.Int(900).tag(sync=True),
    },
)


class Studio:
    """The page of `dermis studio`: pose, sculpt, fit and look, in a notebook.

    What the page saves is stored in `into`, and named in `saved`. A page that is closed has lost what was not saved.

    >>> dermis.studio("hero.glb", "shots.npz")
    >>> dermis.Session.open("hero.session").studio()

    Parameters
    ----------
    files : paths
        Files that are in the page from the start; of a folder its files.
    into : path
        The folder for what is saved. A file that is there already stays, and the new one gets a number.
    session : path, optional
        A session that the page opens. *Save the session* writes it back, unless somebody else changed it meanwhile.
    height : int
        Height of the page, pixels.

    Raises
    ------
    dermis.Error
        If a file is not there.
    """

    def __init__(self, *files: Path, into: Path = ".", session: Optional[Path] = None, height: int = 900) -> None:
        #: The widget, for layouts; a notebook shows it by itself.
        self.view = _View(height=height)
        self._send: Callable[..., None] = self.view.send
        self._files = [os.fspath(file) for file in files]
        self._into = FilePath(into)
        self._session = None if session is None else FilePath(session).resolve()
        if self._session is not None:
            self._files.append(str(self._session))
        self._state = self._session_state()
        self._links: dict[str, Optional[ClientConnection]] = {}
        self._saving: dict[str, tuple[int, io.BytesIO]] = {}
        self._lock = threading.Lock()
        self._program: Optional[_Program] = _Program(self._files)
        #: Files that the page saved, in their order.
        self.saved: list[FilePath] = []
        self.view.on_msg(self._hear)

    def close(self) -> None:
        """Takes the page away, and ends the program."""
        if self._program is not None:
            self._program.end()
            self._program = None
        self.view.close()

    def _repr_mimebundle_(self, **options: Any) -> Any:
        return self.view._repr_mimebundle_(**options)

    def __del__(self) -> None:
        if getattr(self, "_program", None) is not None:
            self.close()

    def _running(self) -> _Program:
        """The program. It ends when a page is closed, and the next page finds it anew."""
        with self._lock:
            if self._program is None or not self._program.runs:
                self._program = _Program(self._files)
            return self._program

    def _hear(self, _: Any, message: dict[str, Any], buffers: list[Any]) -> None:
        """Hears the page."""
        if "page" in message:
            try:
                self._send({"page": self._running().page()})
            except (Error, OSError) as error:
                self._send({"saved": str(error)})
        elif "connect" in message:
            link = message["connect"]
            self._links[link] = None
            threading.Thread(target=self._listen, args=(link,), daemon=True).start()
        elif "leave" in message:
            connection = self._links.pop(message["leave"], None)
            if connection is not None:
                connection.close()
        elif "save" in message:
            self._saving[message["save"]] = (int(message["length"]), io.BytesIO())
            self._store(message["save"])
        elif "saving" in message:
            self._saving[message["saving"]][1].write(buffers[0])
            self._store(message["saving"])
        else:
            connection = self._links.get(message["link"])
            if connection is not None:
                try:
                    connection.send(message["text"] if "text" in message else bytes(buffers[0]))
                except ConnectionClosed:
                    pass  # the thread that listens tells it

    def _listen(self, link: str) -> None:
        """Passes on what the program says, to the end of the connection."""
        reason = ""
        try:
            with self._running().connect() as connection:
                if link not in self._links:
                    return  # the page left meanwhile
                self._links[link] = connection
                self._send({"link": link, "open": True})
                for said in connection:
                    if isinstance(said, str):
                        self._send({"link": link, "text": said})
                    else:
                        self._send({"link": link}, [said])
                reason = connection.close_reason or ""
        except ConnectionClosed as closed:
            reason = closed.rcvd.reason if closed.rcvd is not None else ""
        except (Error, OSError, WebSocketException) as error:
            reason = str(error)
        if self._links.pop(link, None) is not None or reason:
            self._send({"link": link, "closed": reason})

    def _store(self, name: str) -> None:
        """Stores a file of the page, once all of it is here."""
        length, held = self._saving[name]
        if held.tell() < length:
            return
        del self._saving[name]
        try:
            self._send({"saved": f"{name} is saved at {self._stored(FilePath(name).name, held.getvalue())}"})
        except (OSError, zipfile.BadZipFile) as error:
            self._send({"saved": f"{name} is not saved: {error}"})

    def _stored(self, name: str, content: bytes) -> FilePath:
        session = self._session
        if session is not None and name == f"{session.name}.zip" and self._session_state() == self._state:
            _replace(session, content)
            self._state = self._session_state()
            path = session
        else:
            self._into.mkdir(parents=True, exist_ok=True)
            path = _write_new(self._into / name, content)
        self.saved.append(path)
        return path

    def _session_state(self) -> Optional[bytes]:
        """What tells whether the session is the one that the page has."""
        state = None if self._session is None else self._session / _STATE
        return state.read_bytes() if state is not None and state.is_file() else None


def _write_new(path: FilePath, content: bytes) -> FilePath:
    """Writes a file that was not there: a number makes its name a new one."""
    number = 1
    while True:
        place = path if number == 1 else path.with_name(f"{path.stem} ({number}){path.suffix}")
        try:
            with place.open("xb") as file:
                file.write(content)
            return place
        except FileExistsError:
            number += 1


def _replace(folder: FilePath, archive: bytes) -> None:
    """Puts the folder of an archive in the place of another, whole or not at all."""
    made = FilePath(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as packed:
            packed.extractall(made)
        new = next((path for path in made.rglob(_STATE) if path.is_file()), None)
        if new is None:
            raise zipfile.BadZipFile("the archive holds no session")
        old = made / "old"
        folder.rename(old)
        try:
            new.parent.rename(folder)
        except OSError:
            old.rename(folder)
            raise
    finally:
        shutil.rmtree(made, ignore_errors=True)
