#!/usr/bin/env python3
"""engines_test.py HEATSKIN [PART...]: what cluster/ has for other engines than Slurm.

kubernetes: the job against its schema and against the program's help, and its pods as this machine can play them: one
process per index, user 1000, a root that is read-only. parallel: GNU parallel. snakemake: the workflow on this machine.
Parts whose programs are missing are skipped; exit code 77 if all are.
"""

import copy
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parents[2]
CLUSTER = PROJECT / "cluster"


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def run(*words, expect=0, **more):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=900, **more)
    if done.returncode != expect:
        raise Failed(f"{' '.join(map(str, words))}: code {done.returncode}: {(done.stderr or done.stdout).strip()[-800:]}")
    return done.stdout


def make_batch(heatskin, folder, count=6):
    run(heatskin, "demo-asset", "-o", folder / "pumpkin.glb", "--resolution", 500, "-q")
    with open(folder / "assets.jsonl", "w") as file:
        for i in range(count):
            options = {"preset": "draft", "steps": 20, "kernels": 60, "seed": i, "no_eval": True}
            file.write(json.dumps({"input": "pumpkin.glb", "output": f"a{i}", "options": options}) + "\n")
    environment = dict(os.environ, HEATSKIN_CACHE="off")
    run(heatskin, "batch", folder / "assets.jsonl", "-o", folder / "single", "-q", env=environment)


def same_products(folder, out, count=6):
    for i in range(count):
        product = out / f"a{i}.glb"
        if not product.exists():
            raise Failed(f"{product.name} is missing")
        if product.read_bytes() != (folder / "single" / product.name).read_bytes():
            raise Failed(f"{product.name} has other bytes")


# --- Kubernetes -------------------------------------------------------------------------------------------------------


def problems_of_job(job, schema, jsonschema, help_text):
    """Of the schema, then what it cannot say."""
    problems = [
        f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}"
        for error in jsonschema.Draft7Validator(schema).iter_errors(job)
    ]
    if problems:
        return problems
    spec, pod = job["spec"], job["spec"]["template"]["spec"]
    if spec.get("completionMode") != "Indexed" or "completions" not in spec:
        problems.append("an Indexed Job needs completionMode and completions")
    if spec.get("backoffLimitPerIndex") is not None and pod["restartPolicy"] != "Never":
        problems.append("backoffLimitPerIndex and podFailurePolicy need restartPolicy Never")
    volumes = {volume["name"] for volume in pod.get("volumes", [])}
    for container in pod["containers"]:
        mounts = {mount["name"] for mount in container.get("volumeMounts", [])}
        if mounts - volumes:
            problems.append(f"no volume {sorted(mounts - volumes)}")
        environment = {entry["name"]: entry.get("value") for entry in container.get("env", [])}
        if environment.get("HEATSKIN_SHARDS") != str(spec["completions"]):
            problems.append("HEATSKIN_SHARDS is not the number of completions")
        for rule in spec.get("podFailurePolicy", {}).get("rules", []):
            named = rule.get("onExitCodes", {}).get("containerName", container["name"])
            if named != container["name"]:
                problems.append(f"podFailurePolicy names {named}")
            if 0 in rule.get("onExitCodes", {}).get("values", []) and rule["onExitCodes"]["operator"] == "In":
                problems.append("exit code 0 is no failure")
        options = dict((a.split("=", 1) + [""])[:2] for a in container["args"] if a.startswith("--"))
        for option in options:
            if not re.search(rf"{re.escape(option)}\b", help_text):
                problems.append(f"heatskin batch has no {option}")
        if float(options.get("--grace-seconds", 0)) >= pod.get("terminationGracePeriodSeconds", 30):
            problems.append("Kubernetes kills before fits have saved their states")
    return problems


def play_pods(heatskin, job, folder):
    """Each index as its pod would run it."""
    if os.geteuid() != 0:
        raise Skipped("playing pods needs root")
    out = folder / "fitted"
    out.mkdir()
    os.chown(out, 1000, 1000)
    folder.chmod(0o755)
    shutil.copy(heatskin, folder / "heatskin")
    container = job["spec"]["template"]["spec"]["containers"][0]
    shards = 3
    for index in range(shards):
        environment = {entry["name"]: entry["value"] for entry in container["env"]}
        environment.update(JOB_COMPLETION_INDEX=str(index), HEATSKIN_SHARDS=str(shards), HEATSKIN_CACHE="/tmp/cache", PATH="/usr/bin:/bin")
        # This machine alone, which may have other vector instructions than the nodes.
        del environment["HEATSKIN_SIMD"]
        script = (
            'mount --make-rprivate / && mount --bind "$1" /mnt && mount -t tmpfs tmpfs /tmp && '
            "mount -o remount,bind,ro / && shift && "
            '! touch /var/probe 2>/dev/null && exec setpriv --reuid 1000 --regid 1000 --clear-groups --no-new-privs '
            '--inh-caps=-all "$@"'
        )
        arguments = [a.replace("/data", "/mnt") for a in container["args"]]
        tried = subprocess.run(
            ["unshare", "--mount", "sh", "-c", script, "sh", str(folder), "/mnt/heatskin", *arguments],
            env=environment, capture_output=True, text=True, cwd="/",
        )  # fmt: skip
        if tried.returncode != 0:
            if "mount" in tried.stderr or "unshare" in tried.stderr:
                raise Skipped(f"no name spaces: {tried.stderr.strip()}")
            raise Failed(f"pod {index}: code {tried.returncode}: {tried.stderr.strip()}")
    same_products(folder, out)


def kubernetes(heatskin, folder):
    try:
        import jsonschema
        import yaml
    except ImportError as missing:
        raise Skipped(f"there is no {missing.name} (Debian: python3-yaml python3-jsonschema)")
    job = yaml.safe_load((CLUSTER / "kubernetes.yaml").read_text())
    schema = json.loads((CLUSTER / "kubernetes.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    help_text = run(heatskin, "batch", "--help")
    if problems := problems_of_job(job, schema, jsonschema, help_text):
        raise Failed("; ".join(problems))

    def plant(change):
        planted = copy.deepcopy(job)
        change(planted["spec"], planted["spec"]["template"]["spec"])
        return problems_of_job(planted, schema, jsonschema, help_text)

    def first(pod):
        return pod["containers"][0]

    errors = {
        "a misspelt field": lambda spec, pod: spec.update(completion=3),
        "a number as text": lambda spec, pod: spec.update(completions="40"),
        "an unknown mode": lambda spec, pod: spec.update(completionMode="Index"),
        "restartPolicy Always": lambda spec, pod: pod.update(restartPolicy="Always"),
        "a variable that is a number": lambda spec, pod: first(pod)["env"][0].update(value=40),
        "a quantity that is none": lambda spec, pod: first(pod)["resources"]["requests"].update(memory="2 GB"),
        "another number of shards": lambda spec, pod: spec.update(completions=41),
        "a volume that is not there": lambda spec, pod: first(pod)["volumeMounts"][0].update(name="nothing"),
        "an option the program has not": lambda spec, pod: first(pod)["args"].append("--no-such-option"),
        "too little grace": lambda spec, pod: pod.update(terminationGracePeriodSeconds=30),
        "a rule without a condition": lambda spec, pod: spec["podFailurePolicy"]["rules"].append({"action": "Ignore"}),
    }
    for name, change in errors.items():
        if not plant(change):
            raise Failed(f"a planted error is not found: {name}")
    make_batch(heatskin, folder)
    play_pods(heatskin, job, folder)
    return f"the job fits its schema, {len(errors)} planted errors are found, three pods did the work"


# --- GNU parallel, Snakemake ------------------------------------------------------------------------------------------


def parallel(heatskin, folder):
    if shutil.which("parallel") is None:
        raise Skipped("there is no parallel (Debian: parallel)")
    make_batch(heatskin, folder)
    environment = dict(os.environ, HEATSKIN=str(heatskin), HEATSKIN_CACHE="off", PARALLEL_JOBS="2", HOME=str(folder))
    run("bash", CLUSTER / "parallel.sh", folder / "assets.jsonl", folder / "fitted", 3, env=environment, cwd=folder)
    same_products(folder, folder / "fitted")
    return "three shards, the bytes of one process"


def snakemake(heatskin, folder):
    if shutil.which("snakemake") is None:
        raise Skipped("there is no snakemake (Debian: snakemake)")
    make_batch(heatskin, folder)
    environment = dict(os.environ, HEATSKIN_CACHE="off", HOME=str(folder), XDG_CACHE_HOME=str(folder / "cache"))
    words = ["snakemake", "--snakefile", CLUSTER / "snakemake" / "Snakefile", "--cores", 2, "--directory", folder,
             "--config", "manifest=assets.jsonl", "folder=fitted", "shards=3", f"heatskin={heatskin}"]  # fmt: skip
    run(*words, env=environment)
    same_products(folder, folder / "fitted")
    table = (folder / "fitted" / "results.csv").read_text().splitlines()
    if len(table) != 7:
        raise Failed(f"results.csv has {len(table)} lines")
    if "Nothing to be done" not in subprocess.run([str(w) for w in words], env=environment, capture_output=True, text=True).stderr:
        raise Failed("a second run does not say that nothing is to be done")
    return "three shards and the table, the bytes of one process"


def main():
    heatskin = pathlib.Path(sys.argv[1]).resolve()
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    parts = {"kubernetes": kubernetes, "parallel": parallel, "snakemake": snakemake}
    failed = done = 0
    for name in sys.argv[2:] or parts:
        with tempfile.TemporaryDirectory(prefix=f"heatskin_{name}_") as folder:
            try:
                print(f"{name}: {parts[name](heatskin, pathlib.Path(folder))}", flush=True)
                done += 1
            except Skipped as reason:
                print(f"{name}: skipped: {reason}", flush=True)
            except Failed as problem:
                print(f"{name}: failed: {problem}", flush=True)
                failed += 1
    sys.exit(1 if failed else 0 if done else 77)


if __name__ == "__main__":
    main()
