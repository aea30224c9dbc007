"""Methods with their settings. Names, settings and defaults come from the library itself."""

from __future__ import annotations

import copy
import difflib
import inspect
import json
from collections.abc import Mapping
from typing import Any, Union

from . import _dermis

Choice = Union[str, float, Mapping[str, Any]]

class Method:
    """A method with its settings; the base of `Joint`, `Mwe` and the others.

    Settings are keyword-only. A value that the method does not know is refused by name.
    """

    name: str = ""
    """The method's name in recipes and on the command line."""

    _defaults: dict[str, Any] = {}

    def __init__(self, **settings: Any) -> None:
        cls = type(self)
        if not cls.name:
            raise TypeError("dermis.Method has no settings: take dermis.Joint or another method")
        for given in settings:
            if given not in self._defaults:
                near = difflib.get_close_matches(given, self._defaults, 1)
                known = f"did you mean {near[0]!r}?" if near else f"its settings: {', '.join(self._defaults) or 'none'}"
                raise TypeError(f"{cls.__name__}() has no setting {given!r}; {known}")
        stored, known = _dermis._checked_method(cls.name, json.dumps({**self._defaults, **settings}))
        self._stored = json.loads(stored)
        self._settings = json.loads(known)

    def to_dict(self) -> Any:
        """The method as a recipe holds it.

        Returns
        -------
        dict or str
            ``{"joint": {...}}``, or the bare name of a method without settings.
        """
        return copy.deepcopy(self._stored)

    @staticmethod
    def preset(name: str) -> "Method":
        """A method by the name that `compare` and the command line use, such as 'mwe-published'.

        Parameters
        ----------
        name : str
            One of `dermis.presets()`.

        Returns
        -------
        Method
        """
        return _of_keywords(*_dermis._preset_method(name))

    def __getattr__(self, setting: str) -> Any:
        settings = self.__dict__.get("_settings", {})
        if setting in settings:
            return settings[setting]
        raise AttributeError(f"{type(self).__name__} has no setting {setting!r}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._settings]

    def __repr__(self) -> str:
        settings = ", ".join(f"{key}={value!r}" for key, value in self._settings.items())
        return f"{type(self).__name__}({settings})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._settings == other.__dict__["_settings"]

    def __hash__(self) -> int:
        return hash((self.name, json.dumps(self._settings, sort_keys=True)))

    def __reduce__(self) -> tuple[Any, ...]:
        return (_of_keywords, (self.name, json.dumps(self._settings)))


def _of_keywords(name: str, keywords: str) -> Method:
    return _CLASSES[name](**json.loads(keywords))


def _class_of(name: str, class_name: str, about: str, keywords: str) -> type[Method]:
    listed = json.loads(keywords)
    defaults = {key: default for key, default, _ in listed}
    doc = f"{about[0].upper()}{about[1:]}."
    if listed:
        doc += "\n\nParameters\n----------\n"
    for key, default, lines in listed:
        doc += f"{key} : default {default!r}\n" + "".join(f"    {line}\n" for line in lines.splitlines())
    cls = type(
        class_name, (Method,), {"__doc__": doc, "__module__": "dermis", "name": name, "_defaults": defaults}
    )

    def init(self: Method, **settings: Any) -> None:
        Method.__init__(self, **settings)

    init.__name__ = "__init__"
    init.__qualname__ = f"{class_name}.__init__"
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [
        inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=value) for key, value in defaults.items()
    ]
    init.__signature__ = inspect.Signature([own, *parameters])  # type: ignore[attr-defined]
    cls.__init__ = init  # type: ignore[misc]
    return cls


_CLASSES: dict[str, type[Method]] = {}
for _listed in _dermis._methods():
    _class = _class_of(*_listed)
    _CLASSES[_class.name] = _class
    globals()[_class.__name__] = _class


def presets() -> dict[str, str]:
    """Every method by name, and what it is.

    Returns
    -------
    dict of str to str
    """
    return dict(_dermis._presets())


def method_of(method: Method | str | None) -> Method:
    """A method as functions take it: itself, a preset's name, or the default."""
    if method is None:
        return Method.preset("joint")
    if isinstance(method, str):
        return Method.preset(method)
    if isinstance(method, Method):
        return method
    if isinstance(method, type) and issubclass(method, Method):
        raise TypeError(f"method is the class {method.__name__}; write dermis.{method.__name__}()")
    raise TypeError(f"method is a {type(method).__name__}; a dermis.Method such as dermis.Joint() is expected")
