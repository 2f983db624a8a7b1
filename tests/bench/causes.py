#!/usr/bin/env python3
"""How often pmanalyze names what was injected: seeded runs of train_cnn on softgpu's model clock, with one disturbance or two.

usage: causes.py BUILD [RUNS [RANKS]...]     (100 runs on each of 4 16 64 ranks; SEED=N: the first seed, 1)

Each seed draws none (one run in ten), one, or two of: a slower GPU, a slower layer, a host that launches late; on one rank or two, over
jitter of 3%. A run is right where every straggler that `report` finds was injected, with its rank, cause and layer, and one is found
where one was injected. Of two, the costlier must come first (by the times of a run without disturbances; where they are apart by a
fifth, and no host is among them), and both must be found where they are of one GPU. On two ranks the lesser one hides
behind the greater, as far as the others wait for both at once, and a late host hides behind its own slow GPU: that one may be missing;
the last column counts the pairs of which both were found. Each run that is wrong is printed, with its seed.
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

build = os.path.abspath(sys.argv[1])
runs = int(sys.argv[2]) if len(sys.argv) > 2 else 100
sizes = [int(text) for text in sys.argv[3:]] or [4, 16, 64]
first_seed = int(os.environ.get("SEED", "1"))
LAYERS = ["conv1", "conv2", "fc1"]
APART = 1.2


class Disturbance:
    def __init__(self, rank, kind, layer, much):
        self.name = (rank, kind, layer)
        self.kind, self.much = kind, much
        what = f"launch={much}us" if kind == "host" else f"layer={layer} slow={much}" if layer else f"slow={much}"
        self.text = f"rank={rank} {what}"

    def added(self, even, other):
        """What it adds to the rank's time, beside the other one; None: it depends on what hides it."""
        rank, kind, layer = self.name
        both = other.name[0] == rank
        if kind == "layer":
            return (self.much - 1) * even[layer] * (other.much if both and other.kind == "slower" else 1)
        if kind == "slower":
            return (self.much - 1) * (even[""] + (other.added(even, Disturbance(-1, "", "", 1)) if both and other.kind == "layer" else 0))
        return None


def even_times(folder):
    """Of a run without disturbances: what of a step a slower GPU takes longer for, and each layer."""
    even = {row["layer"]: row["forward_ns"] + row["backward_ns"] for row in ask("layers", folder)["layers"]}
    even[""] = sum(row["busy_ns"] for row in ask("report", folder)["phases"]
                   if row["phase"] in ("forward", "backward", "update", "h2d", "other"))
    return even


def draw(random_, ranks):
    count = random_.choice([0] + [1] * 4 + [2] * 5)
    same = random_.random() < 0.5
    found = []
    while len(found) < count:
        rank = found[0].name[0] if found and same else random_.randrange(ranks)
        kind = random_.choice(["slower", "layer", "host"])
        layer = random_.choice(LAYERS) if kind == "layer" else ""
        if any((rank == other.name[0]) != same or (kind, layer) == other.name[1:] for other in found):
            continue
        found.append(Disturbance(rank, kind, layer,
                                 random_.choice({"slower": [1.3, 1.5, 2], "layer": [3, 4, 6], "host": [15, 20, 30]}[kind])))
    return found


def train(folder, ranks, disturb):
    # hosts share processors: what they lose to each other must be small beside an iteration
    environment = dict(os.environ, SOFTGPU_PROFILE="v100", SOFTGPU_TIME_SCALE=str(25 * ranks), SOFTGPU_DISTURB=disturb)
    subprocess.run([f"{build}/bin/pmrun", "-q", "-n", str(ranks), "-o", folder, "--softgpu", "--", f"{build}/bin/train_cnn",
                    "--synthetic", "--batch", str(256 * ranks), "--iterations", "12", "--print", "0"], check=True, env=environment,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def ask(command, folder):
    answer = subprocess.run([f"{build}/bin/pmanalyze", command, "--json", folder], check=True, capture_output=True, text=True)
    return json.loads(answer.stdout)


def judge(disturbances, findings, even):
    """What is wrong, or None; and how many of the disturbances were found."""
    named = [(int(item["subject"].split(",")[0].split()[1]), item["cause"], item["layer"])
             for item in findings if item["kind"] == "straggler"]
    injected = [each.name for each in disturbances]
    found = sum(name in named for name in injected)
    wrong = [name for name in named if name not in injected]
    if wrong:
        return f"finds {wrong}", found
    if injected and not named:
        return "finds nobody", found
    costs = [each.added(even, other) for each, other in zip(disturbances, reversed(disturbances))]
    if len(injected) == 2 and None not in costs:
        first = injected[costs[1] > costs[0]]
        if max(costs) > APART * min(costs) and named[0] != first:
            return f"{named[0]} comes before {first}", found
        if injected[0][0] == injected[1][0] and found < 2:
            return f"finds only {named}", found
    return None, found


def main():
    scratch = tempfile.mkdtemp()
    folder = os.path.join(scratch, "run")
    try:
        print(f"{'ranks':>5} {'none':>11} {'one':>11} {'two':>11} {'both found':>11}   (right of the runs with so many)", flush=True)
        for ranks in sizes:
            right, count, both = [0, 0, 0], [0, 0, 0], 0
            train(folder, ranks, "")
            even = even_times(folder)
            shutil.rmtree(folder)
            for seed in range(first_seed, first_seed + runs):
                disturbances = draw(random.Random(1000 * ranks + seed), ranks)
                text = "; ".join([each.text for each in disturbances] + [f"jitter=0.03 seed={seed}"])
                train(folder, ranks, text)
                why, found = judge(disturbances, ask("report", folder)["findings"], even)
                shutil.rmtree(folder)
                count[len(disturbances)] += 1
                right[len(disturbances)] += why is None
                both += found == 2
                if why:
                    print(f"  {ranks} ranks, seed {seed}: {text}: {why}", flush=True)
            print(f"{ranks:5} " + " ".join(f"{right[i]:4} of {count[i]:3}" for i in range(3)) + f" {both:4} of {count[2]:3}", flush=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


main()
