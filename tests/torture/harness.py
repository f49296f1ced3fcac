"""Runs the program under test and judges what it did.

A case is a function that gets a Trial: a fresh folder and the means to run the program in it. Every run is held to what
holds for all verbs (Trial.run), and to what the case says it expects. The first thing that is not so fails the case.
"""

import dataclasses
import hashlib
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time

# Limits against hangs and runaway memory, not statements about speed: all inputs are small.
HANG_SECONDS = 900
MEMORY_BYTES = 3 << 30

DONE, FAILED, USAGE, INPUT = 0, 1, 2, 3  # the documented exit codes
ERROR = "heatskin: error: "

# What must never be seen, whatever the exit code.
CRASH = re.compile(r"terminate called|Sanitizer|runtime error:|Assertion .* failed|what\(\):|core dumped")


class Failure(Exception):
    """The program did not do what it should."""


class Skip(Exception):
    """The case cannot be tried here."""


@dataclasses.dataclass
class Outcome:
    command: list
    code: int  # -N: ended by signal N, as subprocess has it
    out: str
    err: str
    seconds: float
    memory: int  # peak resident bytes
    hung: bool

    @property
    def errors(self):
        return [line for line in self.err.splitlines() if line.startswith(ERROR)]

    def __str__(self):
        text = " ".join(repr(part) if re.search(r"[^\w./=,:+-]", part) or not part else part for part in self.command)
        said = self.err.strip().splitlines()[-3:]
        return f"{text}: code {self.code}" + "".join(f"\n      | {line[:300]}" for line in said)


@dataclasses.dataclass
class Limits:
    seconds: float = HANG_SECONDS
    memory: int = MEMORY_BYTES  # judged afterwards by the peak
    address_space: int = 0  # RLIMIT_AS, 0: none
    file_size: int = 0  # RLIMIT_FSIZE, 0: none


@dataclasses.dataclass
class Interruption:
    """Sends `number` once `after` seconds have passed and when(bytes written to stderr so far) holds."""

    number: int
    after: float = 0
    when: object = None


def start_process(command, folder, out, err, stdin, limits, user, environment):
    def prepare():
        os.setsid()
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # ignored in background shells
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if limits.address_space:
            resource.setrlimit(resource.RLIMIT_AS, (limits.address_space,) * 2)
        if limits.file_size:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file_size,) * 2)

    other = {"user": user, "group": user, "extra_groups": []} if user is not None else {}
    return subprocess.Popen(
        command, cwd=folder, stdin=stdin, stdout=out, stderr=err, preexec_fn=prepare, env=environment, **other
    )


def run_process(command, folder, limits=Limits(), interruption=None, stdin=b"", stdout=None, user=None):
    """One run of `command`; `stdout` names a file to write to instead of being captured."""
    environment = dict(os.environ, HEATSKIN_CACHE="off", NO_COLOR="1", TMPDIR=str(folder))
    # Pipes, because a limit on file sizes would also hold for files we capture into.
    pipes = [os.pipe() for _ in range(2)]
    texts = [bytearray(), bytearray()]
    with tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        out = os.open(stdout, os.O_WRONLY) if stdout else pipes[0][1]
        begin = time.monotonic()
        process = start_process(command, folder, out, pipes[1][1], given, limits, user, environment)
        for fd in {out, pipes[0][1], pipes[1][1]}:
            os.close(fd)
    readers = [read for read, _ in pipes]
    for fd in readers:
        os.set_blocking(fd, False)

    def listen():
        for fd, text in zip(readers, texts):
            try:
                while part := os.read(fd, 1 << 16):
                    text += part
            except BlockingIOError:
                pass

    hung = False
    wanted = interruption
    try:
        while True:
            listen()
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            elapsed = time.monotonic() - begin
            if wanted and elapsed >= wanted.after and (wanted.when is None or wanted.when(len(texts[1]))):
                os.kill(process.pid, wanted.number)
                wanted = None
            if elapsed > limits.seconds and not hung:
                hung = True
                os.killpg(process.pid, signal.SIGKILL)
            time.sleep(0.002 if elapsed < 1 else 0.02)
    except BaseException:  # we are being ended: so is what we started
        os.killpg(process.pid, signal.SIGKILL)
        os.waitpid(process.pid, 0)
        raise
    seconds = time.monotonic() - begin
    listen()
    for fd in readers:
        os.close(fd)
    code = os.waitstatus_to_exitcode(status)
    process.returncode = code  # Popen need not wait any more
    out, err = (bytes(text).decode("utf-8", "replace") for text in texts)
    return Outcome(command, code, out, err, seconds, usage.ru_maxrss * 1024, hung)


def snapshot(folder):
    """{relative path: what it is} of everything below a folder: kind, and content or target."""
    found = {}
    for root, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(root, name)
            if os.path.islink(path):
                what = ("link", os.readlink(path))
            elif os.path.isdir(path):
                what = ("folder", "")
            elif os.path.isfile(path):
                try:
                    with open(path, "rb") as file:
                        what = ("file", hashlib.sha256(file.read()).hexdigest())
                except OSError:
                    what = ("file", "unreadable")
            else:
                what = ("other", "")
            found[os.path.relpath(path, folder)] = what
    return found


class Trial:
    """A folder of its own, and runs of the program in it."""

    def __init__(self, program, fixtures, folder, rng):
        self.program = program
        self.fixtures = fixtures
        self.folder = pathlib.Path(folder)
        self.rng = rng

    def take(self, *names):
        """Copies of files made once for all cases."""
        for name in names:
            shutil.copy(self.fixtures / name, self.folder / name)
        return names[0] if len(names) == 1 else names

    def write(self, name, content):
        data = content.encode() if isinstance(content, str) else content
        (self.folder / name).write_bytes(data)
        return name

    def read(self, name):
        return (self.folder / name).read_bytes()

    def exists(self, name):
        return os.path.lexists(self.folder / name)

    def check(self, condition, text):
        if not condition:
            raise Failure(text)

    def run(self, *arguments, expect=(DONE,), makes=(), may_make=(), says=None, limits=Limits(), judge=True, **more):
        """Runs the program and holds it to the rules.

        expect: exit codes that are right here. makes: paths a successful run writes (folders: all below them);
        may_make: paths any run may write. says: a regular expression the error must match.
        """
        arguments = [os.fspath(a) for a in arguments]
        before = snapshot(self.folder)
        outcome = run_process([str(self.program)] + arguments, self.folder, limits, **more)
        outcome.command = ["heatskin"] + arguments
        if judge:
            self.judge(outcome, expect, before, makes, may_make, says, limits)
        return outcome

    def judge(self, outcome, expect, before, makes=(), may_make=(), says=None, limits=Limits()):
        self.check(not outcome.hung, f"hangs (killed after {limits.seconds} s): {outcome}")
        self.check(outcome.code >= 0, f"ended by signal {-outcome.code}: {outcome}")
        self.check(not CRASH.search(outcome.err), f"crashes: {outcome}")
        expect = {expect} if isinstance(expect, int) else set(expect)
        self.check(outcome.code in expect, f"exit code {outcome.code}, not {sorted(expect)}: {outcome}")
        self.check(
            outcome.memory <= limits.memory, f"uses {outcome.memory >> 20} MiB, more than {limits.memory >> 20}: {outcome}"
        )
        if outcome.code == DONE:
            self.check(not outcome.errors, f"reports an error and ends with 0: {outcome}")
        else:
            lines = outcome.err.splitlines()
            self.check(len(outcome.errors) == 1, f"{len(outcome.errors)} error lines instead of one: {outcome}")
            self.check(lines[-1] == outcome.errors[0], f"goes on talking after its error: {outcome}")
            quoted = 2 * max(len(part) for part in outcome.command)
            self.check(len(outcome.errors[0]) < 1000 + quoted, f"an error of {len(outcome.errors[0])} characters: {outcome}")
        strange = [line for line in outcome.err.splitlines() if not line.startswith("heatskin: ")]
        self.check(not strange, f"a line of something else ({strange[:1]}): {outcome}")
        if says and outcome.code != DONE:
            self.check(re.search(says, outcome.errors[0]), f"the error does not say '{says}': {outcome}")
        self.judge_files(outcome, before, makes, may_make)

    def judge_files(self, outcome, before, makes, may_make):
        def belongs(path, names):
            return any(path == name or path.startswith(name + "/") for name in names)

        after = snapshot(self.folder)
        allowed = [os.path.normpath(name) for name in list(may_make) + (list(makes) if outcome.code == DONE else [])]
        for path, what in before.items():
            if not belongs(path, allowed):
                self.check(after.get(path) == what, f"changes or removes '{path}': {outcome}")
        left = [path for path in after if path not in before and not belongs(path, allowed)]
        self.check(not left, f"leaves {left}: {outcome}")
        if outcome.code == DONE:
            for name in makes:
                self.check(os.path.normpath(name) in after, f"does not write '{name}': {outcome}")
