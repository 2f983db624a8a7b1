"""Coverage of intervals by groups of rows: see intervals.sh. intervals.py PMFIT FITDATA SCRATCH"""
import collections
import csv
import glob
import json
import math
import os
import random
import subprocess
import sys

PMFIT, FITDATA, SCRATCH = sys.argv[1:]
METHODS = {"fit": ["--seeds", "3"], "search": ["--work", "5"]}
ASKED = os.environ.get("METHODS", "fit search").split()
SETS = os.environ.get("SETS", "imagenet ncf bert cifar10 conv").split()
LEAST, GREATEST, GROUP = 0.93, 0.97, 50
FOLDS = 3


def pollux(job):
    rows = []
    with open(f"{FITDATA}/pollux/{job}/placements.csv", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            rows.append([sum(map(int, row["placement"])), len(row["placement"]), row["local_bsz"], row["step_time"]])
    with open(f"{FITDATA}/pollux/{job}/scalability.csv", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            rows.append([row["num_replicas"], row["num_nodes"], row["local_bsz"], row["step_time"]])
    return ["gpus", "nodes", "local_bsz", "time"], rows, "time time s\nintrinsic local_bsz\nextrinsic gpus nodes\n"


def convolutions():
    words = {"optimizer": "o", "activation_fct": "a", "padding": "p"}
    columns = ["batchsize", "channels_in", "channels_out", "kernelsize", "matsize", "strides", *words]
    with open(sorted(glob.glob(f"{FITDATA}/justus/1080ti*convolution*.csv"))[0], encoding="utf-8") as file:
        rows = [[words.get(c, "") + row[c] for c in columns] + [row["timeUsed_median"]] for row in csv.DictReader(file)]
    rows = [row for row in rows if float(row[-1]) > 0][:3000]
    return columns + ["time"], rows, ("time time ms\nintrinsic kernelsize\nextrinsic batchsize channels_in channels_out matsize strides\n"
                                      "categorical optimizer activation_fct padding\n")


def write(name, head, rows):
    with open(f"{SCRATCH}/{name}.csv", "w", encoding="utf-8") as file:
        csv.writer(file).writerows([head] + rows)


def predict(model, name):
    out = subprocess.run([PMFIT, "predict", "--json", "--time", "time", model, f"{SCRATCH}/{name}.csv"], check=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return json.loads(out)["rows"]


def groups(head, rows, predicted):
    """Lists of row numbers."""
    found = collections.defaultdict(list)
    for k, row in enumerate(rows):
        for name, value in zip(head[:-1], row):
            found[f"{name} {value}"].append(k)
    order = sorted(range(len(rows)), key=lambda k: predicted[k])
    for quarter in range(4):
        found[f"quarter {quarter}"] = order[quarter * len(order) // 4:(quarter + 1) * len(order) // 4]
    return [members for members in found.values() if len(members) >= GROUP]


def outside(chances):
    """Of chances of 0, 1, ... held rows: that the share is outside of the limits."""
    most = len(chances) - 1
    return sum(chance for k, chance in enumerate(chances) if not LEAST <= k / most <= GREATEST)


def log_choose(count, k):
    return math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1)


def by_chance(count):
    """Each row held with 95%."""
    return outside([math.exp(log_choose(count, k) + k * math.log(0.95) + (count - k) * math.log(0.05)) for k in range(count + 1)])


def learned(count):
    """Ends that are the quantiles of as many rows of this group as were fitted, and nothing else (split conformal intervals of
    the group alone): in each fold the chance to be held is Beta distributed, and held rows beta-binomially."""
    chances = [1.0]
    for fold in range(FOLDS):
        tested = count // FOLDS + (fold < count % FOLDS)
        fitted = count - tested
        a, b = 0.95 * (fitted + 1), 0.05 * (fitted + 1)
        beta = lambda x, y: math.lgamma(x) + math.lgamma(y) - math.lgamma(x + y)
        own = [math.exp(log_choose(tested, k) + beta(k + a, tested - k + b) - beta(a, b)) for k in range(tested + 1)]
        sums = [0.0] * (len(chances) + tested)
        for i, first in enumerate(chances):
            for k, second in enumerate(own):
                sums[i + k] += first * second
        chances = sums
    return outside(chances)


def measure(held, members):
    shares = [sum(held[k] for k in group) / len(group) for group in members]
    return sum(held) / len(held), sum(not LEAST <= share <= GREATEST for share in shares), min(shares)


def fold(name, method, head, train, test):
    """Of each tested row: predicted, low and high, and the same with all residuals alike."""
    write("train", head, train)
    write("test", head, test)
    model = f"{SCRATCH}/model.json"
    subprocess.run([PMFIT, method, "-q", *METHODS[method], "-d", f"{SCRATCH}/roles.txt", "-o", model, f"{SCRATCH}/train.csv"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ratios = sorted(float(row[-1]) / said["predicted"] for row, said in zip(train, predict(model, "train")) if said["predicted"] > 0)
    low, high = (ratios[round(share * (len(ratios) - 1))] for share in (0.025, 0.975))
    return [(s["predicted"], s["low"], s["high"], low * s["predicted"], high * s["predicted"]) for s in predict(model, "test")]


def run(name, method):
    head, rows, roles = convolutions() if name == "conv" else pollux(name)
    draw = random.Random(1)
    drawn = [draw.randrange(FOLDS) for _ in rows]
    with open(f"{SCRATCH}/roles.txt", "w", encoding="utf-8") as file:
        file.write(roles)
    said = [None] * len(rows)
    for part in range(FOLDS):
        places = [k for k in range(len(rows)) if drawn[k] == part]
        train = [row for row, its in zip(rows, drawn) if its != part]
        for k, answer in zip(places, fold(name, method, head, train, [rows[k] for k in places])):
            said[k] = answer
    truth = [float(row[-1]) for row in rows]
    members = groups(head, rows, [s[0] for s in said])
    ours = measure([s[1] <= t <= s[2] for s, t in zip(said, truth)], members)
    alike = measure([s[3] <= t <= s[4] for s, t in zip(said, truth)], members)
    wide = sum(math.log(s[2] / s[1]) for s in said if s[1] > 0) / len(said)
    alike_wide = sum(math.log(s[4] / s[3]) for s in said if s[3] > 0) / len(said)
    chance, limit = sum(by_chance(len(group)) for group in members), sum(learned(len(group)) for group in members)
    print(f"{name:10}{method:8}{len(members):7}{ours[0]:8.3f}{ours[1]:9}{ours[2]:7.3f}{wide:7.2f}"
          f"{alike[0]:9.3f}{alike[1]:9}{alike[2]:7.3f}{alike_wide:7.2f}{chance:10.1f}{limit:9.1f}", flush=True)
    return len(members), ours[1], alike[1], chance, limit


print(f"{'':25}{'by groups':>31}{'all alike':>33}{'outside, if':>19}")
print(f"{'set':10}{'method':8}{'groups':>7}" + "".join(f"{all_held:>{room}}{'outside':>9}{'least':>7}{'wide':>7}"
                                                      for all_held, room in (("all", 8), ("all", 9))) + f"{'right':>10}{'learned':>9}")
results = [run(name, method) for name in SETS for method in ASKED]
print("groups {}, outside of 93 to 97%: {} by groups, {} all alike; {:.0f} if all intervals held 95%, {:.0f} if each group's were its own "
      "fitted rows' quantiles".format(*(sum(column) for column in zip(*results))))
