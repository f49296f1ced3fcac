"""Progress: a bar, a function of yours, or nothing."""

import importlib
import sys
from typing import Any, Callable, Optional, Union

#: True: a bar (tqdm's if it is there). A function: called with phase, steps done, steps in all (0: not known) and a
#: text; what returns False stops the work.
Progress = Union[None, bool, Callable[[str, int, int, str], Any]]


class _Calls:
    def __init__(self, function: Callable[[str, int, int, str], Any]) -> None:
        self._function = function
        self._phase = ""
        self._total = 0

    def begin(self, phase: str, total: int) -> None:
        self._phase, self._total = phase, total
        self._function(phase, 0, total, "")

    def update(self, done: int, detail: str) -> Any:
        return self._function(self._phase, done, self._total, detail)

    def end(self) -> None:
        pass


class _Tqdm:
    def __init__(self, tqdm: Any) -> None:
        self._tqdm = tqdm
        self._bar: Any = None

    def begin(self, phase: str, total: int) -> None:
        self.end()
        self._bar = self._tqdm(total=total or None, desc=phase, leave=False)

    def update(self, done: int, detail: str) -> None:
        if self._bar is not None:
            self._bar.set_postfix_str(detail, refresh=False)
            self._bar.update(done - self._bar.n)

    def end(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class _Line:
    """Without tqdm: one line on stderr that is written again and again."""

    def __init__(self) -> None:
        self._phase = ""
        self._total = 0
        self._width = 0

    def _write(self, text: str, end: str = "") -> None:
        sys.stderr.write("\r" + text.ljust(self._width) + end)
        sys.stderr.flush()
        self._width = len(text)

    def begin(self, phase: str, total: int) -> None:
        self._phase, self._total = phase, total
        self._write(phase)

    def update(self, done: int, detail: str) -> None:
        part = f" {100 * done // self._total} %" if self._total else ""
        self._write(f"{self._phase}{part} {detail}")

    def end(self) -> None:
        self._write("", "\r")
        self._width = 0


def handler(progress: Progress) -> Optional[Any]:
    if progress is None or progress is False:
        return None
    if progress is True:
        try:
            tqdm = importlib.import_module("tqdm.auto").tqdm
        except ImportError:
            return _Line()
        return _Tqdm(tqdm)
    if callable(progress):
        return _Calls(progress)
    raise TypeError(f"progress: expected True, a function or None, got {type(progress).__name__}")
