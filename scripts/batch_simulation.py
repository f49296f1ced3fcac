#!/usr/bin/env python3
"""batch_simulation.py [--draw]: 100,000 assets on 1 to 1,024 nodes, on paper.

Costs are drawn from docs/batch/measured.csv (default fits, in processor seconds, each times a lognormal factor), and what
the program predicts for them with the measured errors of its predictions. A manifest has assets of one kind together, as
folders have: runs of 500. Nodes have 16 threads and do 16 fits at a time.
Ways to share the work out:

  count   one shard per node, equal numbers of assets
  cost    one shard per node, equal predicted costs (what heatskin batch --shard does)
  array   eight shards per node, equal predicted costs, which the engine hands to nodes that are free
  steal   as cost; nodes that are done go on with what others have not begun (--steal)

Events: nodes that fail (all their fits go back to the last checkpoint, the node comes back after a while), and slow nodes.
With --draw the tables go to stdout and the figures to docs/images/batch_*.svg; needs numpy.
"""

import argparse
import csv
import heapq
import pathlib

import numpy

PROJECT = pathlib.Path(__file__).resolve().parents[1]
ASSETS = 100_000
SLOTS = 16
SPREAD = 0.4  # of the lognormal factor
TOGETHER = 500  # assets of a kind, one after the other in the manifest
NODES = (1, 4, 16, 64, 256, 512, 1024)
POLICIES = ("count", "cost", "array", "steal")
PER_NODE = 8  # shards of `array`
CHECKPOINT = 30.0  # seconds between two
STALE = 180.0  # until the leases of a node that is gone are taken over
RETURN = 600.0  # until a failed node, or its replacement, has its task again
SLOW_SHARE, SLOWNESS = 0.05, 3.0


def draw_costs(rng):
    """Processor seconds and what is predicted."""
    rows = [row for row in csv.DictReader(open(PROJECT / "docs" / "batch" / "measured.csv")) if row["options"] == "default"]
    seconds = numpy.array([float(row["cpu_s"]) for row in rows])
    ratio = numpy.array([float(row["predicted_s"]) for row in rows]) / seconds
    which = numpy.repeat(rng.integers(len(rows), size=ASSETS // TOGETHER), TOGETHER)
    actual = seconds[which] * numpy.exp(SPREAD * rng.standard_normal(ASSETS))
    return actual, actual * ratio[which]


def balance(costs, shards):
    """As balance() of src/heatskin/batch/shard.cpp."""
    parts = [[] for _ in range(shards)]
    loads = [(0.0, s) for s in range(shards)]
    for i in numpy.argsort(-costs, kind="stable"):
        load, s = heapq.heappop(loads)
        parts[s].append(int(i))
        heapq.heappush(loads, (load + costs[i], s))
    return parts


def simulate(actual, predicted, nodes, policy, rng, mtbf_hours=0.0, slow=False):
    """Makespan in seconds, and processor seconds that were lost."""
    count = len(actual)
    if policy == "count":
        parts = [list(part) for part in numpy.array_split(numpy.arange(count), nodes)]
        parts = [sorted(part, key=lambda i: -predicted[i]) for part in parts]
    else:
        parts = balance(predicted, nodes * (PER_NODE if policy == "array" else 1))
    queues = [part[::-1] for part in parts]  # the next one is the last
    waiting = list(range(len(queues)))[::-1] if policy == "array" else []
    shard = [waiting.pop() if policy == "array" and waiting else n for n in range(nodes)]
    # For stealing: cheapest first, whoever they belong to.
    cheap = [int(i) for i in numpy.argsort(-predicted, kind="stable")] if policy == "steal" else []
    begun = numpy.zeros(count, bool)
    left = numpy.array(actual)
    speed = numpy.ones(nodes)
    if slow:
        speed[rng.permutation(nodes)[: max(1, round(SLOW_SHARE * nodes))]] = 1 / SLOWNESS
    running = [dict() for _ in range(nodes)]  # asset -> start
    epoch = [0] * nodes  # events of a node before its last failure count for nothing
    idle = [SLOTS] * nodes
    events = []
    number = 0
    done = 0
    lost = 0.0
    now = 0.0

    def push(time, kind, node, what):
        nonlocal number
        number += 1
        heapq.heappush(events, (time, number, kind, node, epoch[node], what))

    def next_asset(node):
        queue = queues[shard[node]]
        while queue:
            i = queue.pop()
            if not begun[i]:
                return i
        while cheap:
            i = cheap.pop()
            if not begun[i]:
                return i
        return None

    def fill(node):
        while idle[node]:
            i = next_asset(node)
            if i is None:
                # The task of an array ends when its last fit has; then the node gets the next shard.
                if policy == "array" and waiting and not running[node]:
                    shard[node] = waiting.pop()
                    continue
                return
            begun[i] = True
            idle[node] -= 1
            running[node][i] = now
            push(now + left[i] / speed[node], "done", node, i)

    for node in range(nodes):
        fill(node)
        if mtbf_hours:
            push(rng.exponential(3600 * mtbf_hours), "fail", node, None)
    while done < count:
        now, _, kind, node, when, what = heapq.heappop(events)
        if kind == "done":
            if when != epoch[node]:
                continue
            del running[node][what]
            idle[node] += 1
            done += 1
            fill(node)
        elif kind == "fail":
            epoch[node] += 1
            for i, start in running[node].items():
                worked = (now - start) * speed[node]
                kept = worked - worked % (CHECKPOINT * speed[node])
                lost += worked - kept
                left[i] -= kept
                push(now + (STALE if policy == "steal" else RETURN), "free", node, (i, shard[node]))
            running[node].clear()
            idle[node] = 0
            push(now + RETURN, "return", node, None)
        elif kind == "free":
            i, s = what
            begun[i] = False
            queues[s].append(i)
            if policy == "steal":
                cheap.append(i)
                for other in range(nodes):
                    if idle[other]:
                        fill(other)
                        break
            elif idle[node]:
                fill(node)
        elif kind == "return":
            idle[node] = SLOTS
            fill(node)
            push(now + rng.exponential(3600 * mtbf_hours), "fail", node, None)
    return now, lost


def text_time(seconds):
    return f"{seconds / 3600:.2f} h" if seconds >= 3600 else f"{seconds / 60:.1f} min"


COLOURS = {"count": "#b3462c", "cost": "#2c6fb3", "array": "#7a5aa6", "steal": "#2f8f5b"}
NAMES = {
    "count": "equal numbers",
    "cost": "equal predicted costs",
    "array": "8 shards per node",
    "steal": "equal costs, --steal",
}


def figure(title, results, ideal, path):
    """Makespan over the perfect one against nodes, both logarithmic."""
    width, height, left, right, top, bottom = 720, 330, 62, 190, 40, 48
    top_value = 12.0
    x = {n: left + (width - left - right) * k / (len(NODES) - 1) for k, n in enumerate(NODES)}

    def y(value):
        return top + (height - top - bottom) * (1 - numpy.log(value) / numpy.log(top_value))

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{left}" y="20" font-size="14" font-weight="bold">{title}</text>',
    ]
    for value in (1, 1.5, 2, 3, 5, 10):
        out.append(f'<line x1="{left}" x2="{width - right}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#ddd"/>')
        out.append(f'<text x="{left - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value:g}</text>')
    for n in NODES:
        out.append(f'<text x="{x[n]:.1f}" y="{height - bottom + 18}" text-anchor="middle">{n:,}</text>')
    out.append(f'<text x="{(left + width - right) / 2:.0f}" y="{height - 10}" text-anchor="middle">nodes of {SLOTS} threads</text>')
    out.append(
        f'<text transform="translate(16 {(top + height - bottom) / 2:.0f}) rotate(-90)" text-anchor="middle">time, in units of the perfect one</text>'
    )
    ends = []
    for policy in POLICIES:
        values = [results[policy, n] / ideal[n] for n in NODES]
        points = " ".join(f"{x[n]:.1f},{y(v):.1f}" for n, v in zip(NODES, values))
        out.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[policy]}" stroke-width="2"/>')
        out += [
            f'<circle cx="{x[n]:.1f}" cy="{y(v):.1f}" r="3" fill="{COLOURS[policy]}"/>' for n, v in zip(NODES, values)
        ]
        ends.append([y(values[-1]) + 4, policy, values[-1]])
    ends.sort()
    for one, two in zip(ends, ends[1:]):  # labels that would touch
        two[0] = max(two[0], one[0] + 15)
    shift = max(0, ends[-1][0] - (height - bottom + 4))
    for place, policy, value in ends:
        out.append(
            f'<text x="{width - right + 10}" y="{place - shift:.1f}" fill="{COLOURS[policy]}">{NAMES[policy]} ({value:.1f})</text>'
        )
    path.write_text("\n".join(out) + "\n</svg>\n")


SCENARIOS = (
    ("calm", "Nothing goes wrong", {}),
    ("failures", "Every node fails once in 24 hours", {"mtbf_hours": 24.0}),
    ("stragglers", "Every twentieth node is three times slower", {"slow": True}),
)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", action="store_true", help="write the figures")
    arguments = parser.parse_args()
    actual, predicted = draw_costs(numpy.random.default_rng(1))
    total = actual.sum()
    print(
        f"{ASSETS:,} assets, {total / 3600:,.0f} processor hours; an asset takes {numpy.median(actual):.0f} s (median), "
        f"{numpy.percentile(actual, 99):.0f} s (one in a hundred takes longer), {actual.max():.0f} s at most\n"
    )
    for name, title, events in SCENARIOS:
        results, ideal = {}, {}
        print(f"**{title}**\n\n| nodes | perfect | " + " | ".join(NAMES[p] for p in POLICIES) + " |")
        print("|---:|---:|" + "---:|" * len(POLICIES))
        for nodes in NODES:
            slow = max(1, round(SLOW_SHARE * nodes)) if events.get("slow") else 0
            ideal[nodes] = total / SLOTS / (nodes - slow + slow / SLOWNESS)
            cells = []
            for policy in POLICIES:
                made, lost = simulate(actual, predicted, nodes, policy, numpy.random.default_rng(7), **events)
                results[policy, nodes] = made
                cells.append(f"{text_time(made)} ({made / ideal[nodes]:.2f})" + (f", {lost / total:.2%} lost" if lost and policy == "cost" else ""))
            print(f"| {nodes:,} | {text_time(ideal[nodes])} | " + " | ".join(cells) + " |", flush=True)
        print()
        if arguments.draw:
            figure(f"{title}: 100,000 assets", results, ideal, PROJECT / "docs" / "images" / f"batch_{name}.svg")


if __name__ == "__main__":
    main()
