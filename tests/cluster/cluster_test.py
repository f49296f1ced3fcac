#!/usr/bin/env python3
"""cluster_test.py HEATSKIN [--keep] [--assets N]: a real Slurm of several nodes on this machine, and a batch that loses nodes.

Started by `make cluster-test`. From Debian's packages (munge, slurmctld, slurmd, slurm-client) it runs a controller and
four node daemons, each in name spaces of its own: the nodes have host names and processes of their own, and killing one
is like pulling its plug. 200 tiny assets run as a job array of 20 tasks with cluster/heatskin.sbatch. Half way a node is
killed and tasks are cancelled, requeued and driven into their time limit; the array is then submitted again, as one does.
At the end every product must be there, must have been made once, and must have the bytes of a run on one machine.

Exit code 77 where Slurm or the right to make name spaces is missing. What happens is printed: docs/batch.md has a
transcript.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROJECT = pathlib.Path(__file__).resolve().parents[2]
NODES = 4
TASKS = 20
STALE_SECONDS = 12
HANG_SECONDS = 1500
PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "squeue", "scontrol", "scancel", "sinfo", "unshare")


class Failed(Exception):
    pass


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


BEGIN = time.monotonic()


def say(text):
    print(f"[{time.monotonic() - BEGIN:5.0f} s] {text}", flush=True)


def run(*words, check=True, **more):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, **more)
    if check and done.returncode != 0:
        raise Failed(f"{' '.join(map(str, words))}: code {done.returncode}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


class Cluster:
    """munge, slurmctld and nodes in a folder of their own; nothing of the machine's own Slurm is touched."""

    def __init__(self, folder):
        self.folder = folder
        self.processes = {}
        self.environment = dict(os.environ, SLURM_CONF=str(folder / "slurm.conf"))

    def start(self):
        folder = self.folder
        (folder / "state").mkdir()
        key = folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        socket = folder / "munge.socket"
        self.spawn(
            "munge", ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={socket}",
                      f"--pid-file={folder}/munge.pid", f"--log-file={folder}/munge.log", f"--seed-file={folder}/munge.seed"],
        )  # fmt: skip
        self.wait_for(socket.exists, "munged makes no socket")
        host = os.uname().nodename
        base = 20000 + os.getpid() % 20000
        nodes = "\n".join(
            f"NodeName=node{n} NodeHostname=node{n} NodeAddr=127.0.0.1 Port={base + n} CPUs=1 RealMemory=2000 State=UNKNOWN"
            for n in range(1, NODES + 1)
        )
        (folder / "slurm.conf").write_text(
            f"""ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={socket},cred_expire=5
CredType=cred/munge
SlurmctldPort={base}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
SlurmdSpoolDir={folder}/spool.%n
StateSaveLocation={folder}/state
SlurmdParameters=config_overrides
SlurmdTimeout=10
KillWait=10
OverTimeLimit=0
JobRequeue=1
ReturnToService=2
SchedulerParameters=batch_sched_delay=1,sched_interval=5,bf_interval=5,requeue_delay=1
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
JobAcctGatherType=jobacct_gather/none
{nodes}
PartitionName=all Nodes=node[1-{NODES}] Default=YES MaxTime=INFINITE State=UP
"""
        )
        for n in range(1, NODES + 1):
            (folder / f"spool.node{n}").mkdir()
        self.spawn("slurmctld", ["slurmctld", "-D", "-i"])
        for n in range(1, NODES + 1):
            self.start_node(n)
        self.wait_for(lambda: self.idle_nodes() == NODES, "the nodes do not come up", 60)

    def start_node(self, n):
        # Its own host name and process numbers. The shell is process 1 there: it waits for orphans, and when it is
        # killed, all others go with it.
        inner = f"echo node{n} >/proc/sys/kernel/hostname; slurmd -D -N node{n} & while :; do wait; sleep 0.2; done"
        self.spawn(f"node{n}", ["unshare", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", inner])

    def kill_node(self, n):
        process = self.processes.pop(f"node{n}")
        process.send_signal(signal.SIGKILL)  # --kill-child: process 1 goes, and with it all processes there
        process.wait()

    def spawn(self, name, words):
        log = open(self.folder / f"{name}.out", "ab")
        self.processes[name] = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment, start_new_session=True
        )

    def slurm(self, *words, check=True):
        return run(*words, check=check, env=self.environment)

    def idle_nodes(self):
        states = self.slurm("sinfo", "-h", "-N", "-o", "%T", check=False).split()
        return sum(state in ("idle", "mixed", "allocated") for state in states)

    def tasks(self):
        """{task: (state, node)} of what Slurm has to do."""
        lines = self.slurm("squeue", "-h", "-r", "-o", "%K %T %N").splitlines()
        return {int(f[0]): (f[1], f[2] if len(f) > 2 else "") for f in (line.split() for line in lines) if f[0].isdigit()}

    def wait_for(self, condition, what, seconds=HANG_SECONDS):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise Failed(what)
            for name, process in self.processes.items():
                if process.poll() is not None:
                    text = (self.folder / f"{name}.out").read_text(errors="replace").strip().splitlines()
                    raise Failed(f"{name} ended with {process.returncode}: {text[-1] if text else 'it said nothing'}")
            time.sleep(0.2)

    def stop(self):
        if "slurmctld" in self.processes:
            run("scancel", "-u", "root", check=False, env=self.environment)
            time.sleep(0.5)
        for name, process in reversed(list(self.processes.items())):
            if name.startswith("node"):
                process.kill()  # unshare hands no signals on
            else:
                process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes.clear()


def make_assets(heatskin, folder, count):
    """A few small pumpkins and one line for each asset, most of them tiny, every tenth some seconds long."""
    for i in range(5):
        run(heatskin, "demo-asset", "-o", folder / f"pumpkin{i}.glb", "--resolution", 500 + 20 * i, "--seed", i, "-q")
    with open(folder / "assets.jsonl", "w") as file:
        for i in range(count):
            long = i % 10 == 0
            options = {
                "preset": "draft",
                "steps": 3000 if long else 20,
                "kernels": 300 if long else 60,
                "seed": i,
                "no_eval": True,
            }
            line = {"input": f"pumpkin{i % 5}.glb", "output": f"shelf{i % 7}/asset{i:03}", "options": options}
            file.write(json.dumps(line) + "\n")


def digests(folder):
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for ending in ("*.glb", "*.toml")
        for path in sorted(folder.rglob(ending))
        if ".heatskin" not in path.parts
    }


def rows(folder):
    found = {}
    for path in sorted((folder / "rows").rglob("*.json")):
        row = json.loads(path.read_text())
        found[row["output"]] = row
    return found


def journal(folder):
    events = []
    for path in sorted((folder / ".heatskin" / "journal").glob("*.jsonl")):
        for line in path.read_text().splitlines():
            events.append(json.loads(line))
    return events


def count(events, name):
    return sum(event["event"] == name for event in events)


def status(heatskin, folder):
    return json.loads(run(heatskin, "batch", "status", folder, "--json", "-", "--quiet", "--stale-seconds", STALE_SECONDS))


def tell(figures):
    keys = ("done", "running", "stale", "waiting", "failed")
    return ", ".join(f"{figures[key]} {key}" for key in keys)


def submit(cluster, work, heatskin, *, minutes):
    text = cluster.slurm(
        "sbatch", f"--array=1-{TASKS}", f"--time={minutes}", "--mem=600M", "--signal=B:USR1@20",
        f"--output={work}/task_%a.log", "--chdir", work,
        PROJECT / "cluster" / "heatskin.sbatch", work / "assets.jsonl", work / "out",
        "--stale-seconds", STALE_SECONDS, "--checkpoint-every", "0.5", "--grace-seconds", "5", "--quiet",
    )  # fmt: skip
    return re.search(r"(\d+)", text).group(1)


def campaign(heatskin, cluster, work, assets):
    cluster.environment.update(HEATSKIN=str(heatskin), HEATSKIN_CACHE="off")
    make_assets(heatskin, work, assets)
    say(f"{assets} assets; on one machine first, for comparison")
    environment = dict(os.environ, HEATSKIN_CACHE="off")
    single = run(
        heatskin, "batch", work / "assets.jsonl", "-o", work / "single", "--json", "-", "--quiet", env=environment
    )
    say(f"one machine: {json.loads(single)['done']} done")
    plan = json.loads(run(heatskin, "batch", "plan", work / "assets.jsonl", "--target-minutes", "0.2", "--json", "-", "--quiet"))
    say(f"plan: {plan['array']['tasks']} tasks for 12 s each, memory {plan['memory_mb']} MB; we take {TASKS}")

    cluster.start()
    say(f"Slurm {run('slurmd', '-V').split()[-1]}: " + " ".join(cluster.slurm("sinfo", "-h", "-o", "%D nodes %T").split()))
    job = submit(cluster, work, heatskin, minutes=60)
    say(f"sbatch --array=1-{TASKS}: job {job}")
    out = work / "out"

    def done():
        return sum(1 for _ in (out / "rows").rglob("*.json")) if (out / "rows").exists() else 0

    def running_on(node=None, but=()):
        return [t for t, (state, where) in cluster.tasks().items()
                if state == "RUNNING" and t not in but and (node is None or where == node)]  # fmt: skip

    cluster.wait_for(lambda: done() >= assets // 5, "nothing gets done")
    say(f"a fifth: {tell(status(heatskin, out))}")
    def in_a_long_fit(but=()):
        """(task, node) of tasks that are in the middle of a fit of some seconds."""
        found = []
        for lease in status(heatskin, out)["leases"]:
            task = int(lease["job"].rpartition("_")[2] or 0)
            if lease["output"].endswith("0") and not lease["stale"] and task in running_on(but=but):
                found.append((task, lease["host"]))
        return found

    def one_in_a_long_fit(but=()):
        """Such a task once there is one; any that runs where none comes soon."""
        found = []
        patience = time.monotonic() + 20

        def look():
            found.extend(in_a_long_fit(but))
            if not found and time.monotonic() > patience:
                found.extend((t, cluster.tasks().get(t, ("", ""))[1]) for t in running_on(but=but))
            return [f for f in found if f[1]] or not cluster.tasks()

        cluster.wait_for(look, "no task runs")
        found = [f for f in found if f[1]]
        if not found:
            raise Failed("the array is over before everything was tried: more assets (--assets) make it longer")
        time.sleep(0.4)  # until there is a checkpoint
        return found[0]

    victim, node = one_in_a_long_fit()
    cluster.kill_node(int(node[-1]))
    say(f"{node} is killed in the middle of task {victim}")
    touched = [victim]
    waiting = [t for t, (state, _) in cluster.tasks().items() if state == "PENDING" and t not in touched]
    for task in waiting[-2:]:
        cluster.slurm("scancel", f"{job}_{task}")
        say(f"task {task} is cancelled before it begins")

    cluster.wait_for(lambda: done() >= assets * 3 // 10, "the other nodes do nothing")

    def tell_one(*words):
        """A task in a long fit that Slurm has given what we ask for; one that is just ending it refuses."""
        while True:
            task, _ = one_in_a_long_fit(touched)
            touched.append(task)
            try:
                cluster.slurm("scancel", *words, f"{job}_{task}")
                return task
            except Failed as refused:
                say(f"  (task {task} was just ending: {str(refused)[-60:]})")

    limited = None
    try:
        limited = tell_one("--signal=USR1", "--batch")
        say(f"task {limited} gets the signal that Slurm sends before the time limit: it saves and requeues itself")
    except Failed:
        say("no task is left that could be driven into its time limit: more assets (--assets) make the array longer")

    cluster.wait_for(lambda: done() >= assets * 4 // 10, "the other nodes do nothing")
    try:
        say(f"task {tell_one()} is cancelled while it runs")
    except Failed:
        say("no task is left that could be cancelled while it runs")
    cluster.wait_for(lambda: not cluster.tasks(), "the array does not end")
    first = status(heatskin, out)
    events = journal(out)
    say(f"the array has ended: {tell(first)}")
    say(f"  begun {count(events, 'begun')}, done {count(events, 'done')}, interrupted {count(events, 'interrupted')}, "
        f"taken over {count(events, 'taken over')}")  # fmt: skip
    log = (work / f"task_{limited}.log").read_text(errors="replace") if limited else ""
    said = [line for line in log.splitlines() if "interrupted" in line]
    if limited:
        say(f"  task {limited} said: {said[0] if said else 'nothing, it had just ended by itself'}")
    if not first["waiting"] + first["stale"]:
        raise Failed("tasks were cancelled and yet everything is done: the array proves nothing")

    submit(cluster, work, heatskin, minutes=60)
    say("the same array is submitted again")
    cluster.wait_for(lambda: not cluster.tasks(), "the second array does not end")
    last = status(heatskin, out)
    say(f"it has ended: {tell(last)}")
    return last


def judge(heatskin, work, assets, last):
    out = work / "out"
    problems = []
    want, got = digests(work / "single"), digests(out)
    if last["done"] != assets or last["failed"] or last["waiting"] or last["running"] or last["stale"]:
        problems.append(f"not everything is done: {tell(last)}")
    missing = sorted(set(want) - set(got))
    if missing:
        problems.append(f"missing: {missing[:5]}")
    other = sorted(name for name in want if name in got and want[name] != got[name])
    if other:
        problems.append(f"other bytes than on one machine: {other[:5]}")
    extra = sorted(set(got) - set(want))
    if extra:
        problems.append(f"left over: {extra[:5]}")
    finished = {}
    for event in journal(out):
        if event["event"] == "done":
            finished[event["output"]] = finished.get(event["output"], 0) + 1
    twice = sorted(name for name, times in finished.items() if times != 1)
    if twice or len(finished) != assets:
        problems.append(f"not done exactly once: {twice[:5]} of {len(finished)}")
    left = [p for p in (out / ".heatskin" / "leases").iterdir()] + [p for p in (out / ".heatskin" / "work").iterdir()]
    if left:
        problems.append(f"leases or work left: {left[:5]}")
    resumed = sum(1 for row in rows(out).values() if row.get("resumed_at"))
    nodes = sorted({row["batch"]["host"] for row in rows(out).values()})
    say(f"{len(got)} files as on one machine, {len(finished)} assets done once each, on {', '.join(nodes)}; "
        f"{resumed} fits went on from a checkpoint")  # fmt: skip
    merged = json.loads(run(heatskin, "batch", "merge", out, "--json", "-", "--quiet"))
    if merged["rows"] != assets or merged["missing"]:
        problems.append(f"batch merge: {merged}")
    return problems


def snakemake_over_slurm(heatskin, cluster, work):
    """The workflow of cluster/snakemake with its profile: Slurm jobs that Snakemake submits."""
    if shutil.which("snakemake") is None:
        say("Snakemake over Slurm: skipped, there is no snakemake")
        return []
    with open(work / "assets.jsonl") as file:
        (work / "few.jsonl").write_text("".join(line for line, _ in zip(file, range(12))))
    environment = dict(cluster.environment, HOME=str(work), XDG_CACHE_HOME=str(work / "cache"))
    run(
        "snakemake", "--snakefile", PROJECT / "cluster/snakemake/Snakefile", "--profile", PROJECT / "cluster/snakemake/slurm",
        "--directory", work, "--latency-wait", 10, "--config", "manifest=few.jsonl", "folder=flow", "shards=3",
        f"heatskin={heatskin}", "mem_mb=600", env=environment, timeout=HANG_SECONDS,
    )  # fmt: skip
    want, got = digests(work / "single"), digests(work / "flow")
    jobs = len(list(work.glob("slurm-*.log")))
    say(f"Snakemake over Slurm: {jobs} jobs, {len(got) // 2} assets, {'the same bytes' if got.items() <= want.items() else 'OTHER BYTES'}")
    return [] if len(got) == 24 and got.items() <= want.items() else ["Snakemake over Slurm makes something else"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("heatskin")
    parser.add_argument("--assets", type=int, default=200)
    parser.add_argument("--keep", action="store_true", help="leave the folder and say where it is")
    arguments = parser.parse_args()
    heatskin = pathlib.Path(arguments.heatskin).resolve()
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    for program in PROGRAMS:
        if shutil.which(program) is None:
            skip(f"there is no {program} (Debian: slurm-wlm munge)")
    if os.geteuid() != 0 or subprocess.run(["unshare", "--uts", "--pid", "--fork", "true"], capture_output=True).returncode != 0:
        skip("node daemons need root and name spaces")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="heatskin_cluster_"))
    work = folder / "work"
    work.mkdir()
    cluster = Cluster(folder)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        last = campaign(heatskin, cluster, work, arguments.assets)
        problems = judge(heatskin, work, arguments.assets, last)
        problems += snakemake_over_slurm(heatskin, cluster, work)
    except Failed as problem:
        problems = [str(problem)]
    finally:
        cluster.stop()
        if arguments.keep:
            print(folder)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    for problem in problems:
        print(f"failed: {problem}")
    if problems:
        sys.exit(1)
    say("passed: nothing missing, nothing done twice, the bytes of one machine")


if __name__ == "__main__":
    main()
