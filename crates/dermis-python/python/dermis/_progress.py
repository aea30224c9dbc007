"""What `progress=` means."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Union

Progress = Union[bool, Callable[[str, float], object], None]
"""None or False: silent. True: a bar by tqdm, if tqdm is installed. A callable: it gets (step, fraction of the whole)."""


@contextmanager
def watching(progress: Progress) -> Iterator[Callable[[str, float], object] | None]:
    """The callback that the library calls."""
    if progress is None or progress is False:
        yield None
    elif progress is not True:
        if not callable(progress):
            raise TypeError(f"progress is a {type(progress).__name__}; a bool or a callable (step, fraction) is expected")
        yield progress
    else:
        try:
            tqdm: Any = importlib.import_module("tqdm.auto").tqdm
        except ImportError:
            yield None
            return
        bar = tqdm(total=100, unit="%", bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}")

        def show(step: str, fraction: float) -> None:
            bar.set_description_str(step, refresh=False)
            bar.n = min(100.0, 100.0 * fraction)
            bar.refresh()

        try:
            yield show
            bar.n = 100
            bar.refresh()
        finally:
            bar.close()
