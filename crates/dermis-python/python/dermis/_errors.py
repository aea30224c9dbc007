"""The error of the package."""

from __future__ import annotations


class Error(ValueError):
    """What went wrong with which argument or file, with expected and found values.

    Attributes
    ----------
    message : str
        What went wrong.
    hint : str
        What to do about it; empty if there is nothing to say.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n hint: {self.hint}" if self.hint else self.message
