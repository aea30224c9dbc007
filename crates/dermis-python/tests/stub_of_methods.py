"""The stub of `dermis._methods`, made of the library's own settings."""

from __future__ import annotations

import inspect
from typing import Any

import dermis

HEAD = '''"""Methods with their settings. Made by tests/test_stubs.py; do not edit."""

from collections.abc import Mapping, Sequence
from typing import Any

Choice = str | float | Mapping[str, Any]
"""A choice as a recipe holds it: its name, or a name with settings."""

class Method:
    """A method with its settings; the base of `Joint`, `Mwe` and the others."""

    name: str
    def __init__(self, **settings: Any) -> None: ...
    def to_dict(self) -> Any: ...
    @staticmethod
    def preset(name: str) -> Method: ...
    def __getattr__(self, setting: str) -> Any: ...
    def __dir__(self) -> list[str]: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

def presets() -> dict[str, str]: ...
def method_of(method: Method | str | None) -> Method: ...
'''


def type_of(default: Any) -> str:
    if isinstance(default, bool):
        return "bool"
    if isinstance(default, int):
        return "int"
    if isinstance(default, float):
        return "float"
    if isinstance(default, list):
        return "Sequence[Any]"
    if default is None:
        return "Choice | None"
    return "Choice"


def stub() -> str:
    parts = [HEAD]
    methods = [cls for cls in vars(dermis).values() if isinstance(cls, type) and issubclass(cls, dermis.Method)]
    for cls in sorted(methods, key=lambda cls: cls.__name__):
        if cls is dermis.Method:
            continue
        parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
        lines = [f"class {cls.__name__}(Method):"]
        if parameters:
            lines += ["    def __init__(", "        self,", "        *,"]
            lines += [f"        {p.name}: {type_of(p.default)} = ...," for p in parameters]
            lines += ["    ) -> None: ..."]
        else:
            lines += ["    def __init__(self) -> None: ..."]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)
