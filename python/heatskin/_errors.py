"""What goes wrong, as exceptions. All of them have `code`, a word that stays the same from version to version."""


class Error(RuntimeError):
    """Something failed while working: a full disk, too little memory. `code` says what (base/result.h)."""

    def __init__(self, message: str = "", code: str = "failed") -> None:
        super().__init__(message)
        self.code = code


class InputError(Error, ValueError):
    """A file or a mesh that cannot be used."""


class UsageError(Error, ValueError):
    """Options that do not exist or contradict each other."""


class Cancelled(Error):
    """A progress callback returned False. What was done is in the checkpoint, if there is one."""
