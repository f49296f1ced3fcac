"""Batches: workers that are killed, hostile manifests, full disks, several workers at once."""

import json
import os
import signal
import subprocess
import time

from harness import DONE, FAILED, INPUT, Interruption, Limits, Skip

QUICK = {"preset": "draft", "steps": 20, "kernels": 60, "no_eval": True}
SLOW = {"preset": "draft", "steps": 1500, "kernels": 300, "no_eval": True}


def batches(quick):
    for number in (signal.SIGKILL, signal.SIGTERM):
        name = signal.Signals(number).name
        yield f"{name} at random moments", lambda t, n=number: kill_and_go_on(t, n, 3 if quick else 10), True
    yield "three workers at once, one is killed", three_workers, True
    yield "hostile lines", hostile_lines, True
    yield "a million lines", million_lines, False
    yield "hundred thousand bad lines", lambda t: bad_lines(t, 100_000), True
    yield "manifests that are none", no_manifests, True
    yield "full disk", full_disk, True
    yield "a folder of nonsense", nonsense_folder, True
    yield "an asset that takes all memory", all_memory, True


def write_manifest(t, count, options=QUICK, name="m.jsonl", more=""):
    lines = [
        json.dumps({"input": "pumpkin.glb", "output": f"s{i % 3}/a{i}", "options": dict(options, seed=i)}) for i in range(count)
    ]
    return t.write(name, "\n".join(lines) + "\n" + more)


def products(t, folder):
    root = t.folder / folder
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*.glb")) if ".heatskin" not in p.parts}


def journal(t, folder):
    events = []
    for path in (t.folder / folder / ".heatskin" / "journal").glob("*.jsonl"):
        for line in path.read_text().splitlines():
            events.append(json.loads(line))
    return events


def done_once(t, folder, count):
    finished = [event["output"] for event in journal(t, folder) if event["event"] == "done"]
    t.check(len(finished) == len(set(finished)), f"done twice: {sorted(finished)}")
    t.check(len(finished) == count, f"{len(finished)} instead of {count} are done")


def nothing_left(t, folder):
    state = t.folder / folder / ".heatskin"
    for name in ("leases", "work", "checkpoints"):
        left = sorted(os.listdir(state / name))
        t.check(not left, f"leaves {name}/{left[:3]}")


def kill_and_go_on(t, number, times):
    """However often a worker is stopped, the folder ends with the bytes of one that nobody stopped."""
    t.take("pumpkin.glb")
    write_manifest(t, 4, SLOW)
    whole = t.run("batch", "m.jsonl", "-o", "whole", "-q", makes=["whole"])
    command = ("batch", "m.jsonl", "-o", "out", "--checkpoint-every", "0", "--stale-seconds", "5")
    for _ in range(times):
        moment = Interruption(number, t.rng.uniform(0, 0.6 * whole.seconds), lambda said: said > 0)
        if number == signal.SIGKILL:
            stopped = t.run(*command, judge=False, interruption=moment)
            t.check(stopped.code in (0, -signal.SIGKILL), f"ends by itself: {stopped}")
        else:
            t.run(*command, expect=(DONE, 128 + number), may_make=["out"], interruption=moment, says="interrupted")
        want = products(t, "whole")
        for name, data in products(t, "out").items():
            t.check(want.get(name) == data, f"a stopped worker leaves part of '{name}'")
    t.run(*command, "-q", may_make=["out"])
    t.check(products(t, "out") == products(t, "whole"), "other bytes than without interruptions")
    nothing_left(t, "out")
    if number != signal.SIGKILL:  # a worker may be killed between a row and its line in the journal
        done_once(t, "out", 4)


def three_workers(t):
    """Two workers do what three began, each asset once, and what one machine does."""
    t.take("pumpkin.glb")
    write_manifest(t, 12, dict(SLOW, steps=300))
    t.run("batch", "m.jsonl", "-o", "whole", "-q", makes=["whole"])
    environment = dict(os.environ, HEATSKIN_CACHE="off")
    command = [str(t.program), "batch", "m.jsonl", "-o", "out", "--jobs", "1", "--threads", "1", "--stale-seconds", "5", "-q"]
    workers = [
        subprocess.Popen(command, cwd=t.folder, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    try:
        leases = t.folder / "out" / ".heatskin" / "leases"
        end = time.monotonic() + 300
        while not (leases.is_dir() and any(str(workers[0].pid) in p.read_text() for p in leases.glob("*.lease") if p.exists())):
            t.check(time.monotonic() < end, "the first worker gets nothing")
            if workers[0].poll() is not None:
                break
            time.sleep(0.01)
        workers[0].kill()
        said = [worker.communicate(timeout=600)[1] for worker in workers]
    except FileNotFoundError:  # a lease that went while it was looked at
        workers[0].kill()
        said = [worker.communicate(timeout=600)[1] for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    for worker, text in zip(workers[1:], said[1:]):
        t.check(worker.returncode == 0 and not text, f"code {worker.returncode}: {text}")
    t.check(products(t, "out") == products(t, "whole"), "other bytes than one worker alone")
    done_once(t, "out", 12)
    nothing_left(t, "out")


HOSTILE = (
    b'{"input": "pumpkin.glb", "output": "../escape"}',
    b'{"input": "pumpkin.glb", "output": "/tmp/escape"}',
    b'{"input": "pumpkin.glb", "output": "a/../../escape"}',
    b'{"input": "pumpkin.glb", "output": "rows/x"}',
    b'{"input": "pumpkin.glb", "output": ".heatskin/x"}',
    b'{"input": "pumpkin.glb", "output": "m.jsonl/x", "options": {"seed": "x"}}',
    b'{"input": "pumpkin.glb", "output": "nul\\u0000l"}',
    b'{"input": "pumpkin.glb", "output": "line\\nbreak"}',
    b'{"input": "pumpkin.glb", "output": "' + b"a" * 5000 + b'"}',
    b'{"input": "pumpkin.glb", "output": "same"}',
    b'{"input": "pumpkin.glb", "output": "same.glb"}',
    b'{"input": "\xff\xfe.glb"}',
    b'{"input": "pumpkin.glb", "cost": NaN}',
    b'{"input": "pumpkin.glb", "cost": 1e400}',
    b'{"input": "pumpkin.glb", "output": "deep", "options": ' + b"[" * 50000 + b"]" * 50000 + b"}",
    b'{"input": "pumpkin.glb", "output": "wild", "options": {"preset": "--help"}}',
    b'{"input": "pumpkin.glb", "output": "wilder", "options": {"preset": "draft --json /tmp/x"}}',
    b'{"input": "pumpkin.glb", "output": "far", "options": {"steps": -5}}',
    b'{"input": "pumpkin.glb", "output": "conf", "options": {"config": "/dev/zero"}}',
    b'{"input": "pumpkin.glb", "output": "conf2", "options": {"config": "m.jsonl", "preset": "draft"}}',
    b'{"input": "--help", "output": "dash"}',
    b'{"input": "/dev/zero", "output": "zero"}',
    b'{"input": ".", "output": "folder"}',
    b'{"input": "m.jsonl", "output": "itself"}',
    b'{"input": "pumpkin.glb", "outputs": "typo"}',
    b'{"input": {"a": 1}}',
    b"[]",
    b"null",
    b'"pumpkin.glb"',
    b"{",
    b"\x00\x01\x02",
    b'{"input": "' + b"b" * 2_000_000 + b'"}',
)


def hostile_lines(t):
    """Each line becomes a row; nothing outside of the folder is touched, and the two good ones are done."""
    t.take("pumpkin.glb")
    good = json.dumps({"input": "pumpkin.glb", "output": "good", "options": QUICK}).encode()
    lines = [line if b'"options"' in line else line.replace(b'"same"', b'"same", "options": ' + json.dumps(QUICK).encode())
             for line in HOSTILE]  # fmt: skip
    t.write("m.jsonl", b"\n".join([b"\xef\xbb\xbf" + good, b"", *lines]))
    t.run("batch", "m.jsonl", "-o", "out", "--json", "r.json", makes=["out", "r.json"], limits=Limits(seconds=300))
    report = json.loads(t.read("r.json"))
    t.check(report["done"] == 2 and report["failed"] == len(HOSTILE) - 1, f"{report}")
    t.check(sorted(products(t, "out")) == ["good.glb", "same.glb"], f"{sorted(products(t, 'out'))}")
    t.run("batch", "merge", "out", may_make=["out"])
    rows = [json.loads(line) for line in t.read("out/results.jsonl").decode().splitlines()]
    t.check(len(rows) == len(HOSTILE) + 1, f"{len(rows)} rows")
    t.check(all(row["status"] in ("done", "failed") for row in rows), "a row without a status")
    t.check(all(row["error"] for row in rows if row["status"] == "failed"), "a failure without a reason")
    t.run("batch", "status", "out", may_make=["out"])
    t.run("batch", "plan", "m.jsonl", "-o", "planned.jsonl", makes=["planned.jsonl"])


def million_lines(t):
    """Bounded memory, and an answer, for a million assets that are not there and lines that are wrong."""
    with open(t.folder / "m.jsonl", "w") as file:
        for i in range(1_000_000):
            file.write(f'{{"input": "gone/{i}.glb", "cost": {1 + i % 97}, "memory": 1000000}}\n' if i % 2 else f"bad {i}\n")
    limits = Limits(seconds=900, memory=3 << 30)
    t.run("batch", "plan", "m.jsonl", "--json", "p.json", makes=["p.json"], limits=limits)
    plan = json.loads(t.read("p.json"))
    t.check(plan["assets"] == 500_000 and plan["bad_lines"] == 500_000, f"{plan['assets']} assets")
    # One shard of a hundred thousand: five assets, five bad lines.
    t.run("batch", "m.jsonl", "-o", "out", "--shard", "7/100000", "--json", "r.json", makes=["out", "r.json"], limits=limits)
    report = json.loads(t.read("r.json"))
    t.check(report["failed"] == report["assets"] == 10, f"{report}")


def bad_lines(t, count):
    t.write("m.jsonl", "x\n" * count)
    t.run("batch", "m.jsonl", "-o", "out", "--json", "r.json", makes=["out", "r.json"], limits=Limits(seconds=300))
    t.check(json.loads(t.read("r.json"))["failed"] == count, "lines are lost")


def no_manifests(t):
    t.write("empty.jsonl", "")
    t.write("blank.jsonl", "\n \n\t\r\n")
    (t.folder / "folder.jsonl").mkdir()
    os.mkfifo(t.folder / "pipe.jsonl")
    os.symlink("circle.jsonl", t.folder / "circle.jsonl")
    for name in ("empty", "blank", "folder", "pipe", "circle", "missing"):
        t.run("batch", f"{name}.jsonl", "-o", "out", expect=INPUT, limits=Limits(seconds=60))
        t.run("batch", "plan", f"{name}.jsonl", expect=INPUT, limits=Limits(seconds=60))
    t.check(not t.exists("out"), "leaves the folder")


def full_disk(t):
    """Where no row can be written the worker fails; what was whole stays whole, and with room it goes on."""
    if os.geteuid() != 0:
        raise Skip("a small file system needs root")
    t.take("pumpkin.glb")
    write_manifest(t, 3)
    t.run("batch", "m.jsonl", "-o", "whole", "-q", makes=["whole"])
    small = t.folder / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m,mode=777", "tmpfs", small], capture_output=True)
    if mounted.returncode != 0:
        raise Skip("a small file system cannot be mounted here")
    try:
        want = products(t, "whole")
        for room in (0, 8192, 40000, 100000, 160000):
            filler = small / "filler"
            free = os.statvfs(small)
            filler.write_bytes(bytes(max(0, free.f_bavail * free.f_frsize - room)))
            t.run("batch", "m.jsonl", "-o", "small/out", "-q", expect=(DONE, FAILED), may_make=["small"])
            filler.unlink()
            for name, data in products(t, "small/out").items() if t.exists("small/out") else ():
                t.check(want.get(name) == data, f"a full disk leaves part of '{name}'")
        t.run("batch", "m.jsonl", "-o", "small/out", "-q", "--retry-failed", may_make=["small"])
        t.check(products(t, "small/out") == want, "with room it does not go on")
    finally:
        subprocess.run(["umount", "-l", small], capture_output=True)


def nonsense_folder(t):
    """A folder in which everything is something else, or damaged."""
    t.take("pumpkin.glb")
    write_manifest(t, 2)
    t.run("batch", "m.jsonl", "-o", "out", "-q", makes=["out"])
    want = products(t, "out")
    out = t.folder / "out"
    (out / "rows" / "s0" / "a0.json").write_bytes(b'{"status": "done", "batch": {"files": [[]], "attempts": 1e99}}')
    (out / "rows" / "s1" / "a1.json").write_bytes(t.rng.randbytes(3000))
    (out / "rows" / "stray.json").write_text("[[[[")
    os.symlink("/dev/zero", out / "rows" / "zero.json")
    for costs in (out / ".heatskin").glob("costs-*.json"):
        costs.write_text('{"costs": [[1], "x"]}')
    (out / ".heatskin" / "leases" / "junk.lease").write_bytes(b"\xff" * 100)
    (out / ".heatskin" / "journal" / "junk").mkdir()
    t.run("batch", "status", "out", may_make=["out"])
    t.run("batch", "m.jsonl", "-o", "out", "-q", may_make=["out"])
    t.check(products(t, "out") == want, "other bytes")
    t.run("batch", "merge", "out", may_make=["out"])
    (out / ".heatskin" / "manifest.json").write_text("{}")
    t.run("batch", "status", "out", expect=(DONE, INPUT), may_make=["out"])


def all_memory(t):
    """An asset that needs more than it may have is a row; the others are done."""
    t.take("pumpkin.glb")
    lines = [
        {"input": "pumpkin.glb", "output": "small", "options": QUICK},
        {"input": "pumpkin.glb", "output": "large", "options": dict(QUICK, kernels=1000000)},
    ]
    t.write("m.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    t.run("batch", "m.jsonl", "-o", "out", "-q", "--max-memory", "300M", "--json", "r.json", makes=["out", "r.json"])
    report = json.loads(t.read("r.json"))
    t.check(report["done"] == 1 and report["failed"] == 1, f"{report}")
    error = json.loads(t.read("out/rows/large.json"))["error"]
    t.check("memory" in error, f"the row says '{error}'")
