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


def by_chance(count):
    """The chance that of so many rows, each held with 95%, a share outside of the limits is held."""
    return sum(math.comb(count, k) * 0.95 ** k * 0.05 ** (count - k) for k in range(count + 1)
               if not LEAST <= k / count <= GREATEST)


def measure(held, members):
    shares = [sum(held[k] for k in group) / len(group) for group in members]
    return sum(held) / len(held), sum(not LEAST <= share <= GREATEST for share in shares), min(shares)


def run(name, method):
    head, rows, roles = convolutions() if name == "conv" else pollux(name)
    draw = random.Random(1)
    drawn = [draw.random() < 2 / 3 for _ in rows]
    train, test = ([row for row, is_train in zip(rows, drawn) if is_train == wanted] for wanted in (True, False))
    write("train", head, train)
    write("test", head, test)
    with open(f"{SCRATCH}/roles.txt", "w", encoding="utf-8") as file:
        file.write(roles)
    model = f"{SCRATCH}/model.json"
    subprocess.run([PMFIT, method, "-q", *METHODS[method], "-d", f"{SCRATCH}/roles.txt", "-o", model, f"{SCRATCH}/train.csv"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ratios = sorted(float(row[-1]) / said["predicted"] for row, said in zip(train, predict(model, "train")) if said["predicted"] > 0)
    low, high = (ratios[round(share * (len(ratios) - 1))] for share in (0.025, 0.975))
    said = predict(model, "test")
    truth = [float(row[-1]) for row in test]
    members = groups(head, test, [s["predicted"] for s in said])
    ours = measure([s["low"] <= t <= s["high"] for s, t in zip(said, truth)], members)
    alike = measure([low * s["predicted"] <= t <= high * s["predicted"] for s, t in zip(said, truth)], members)
    wide = sum(math.log(s["high"] / s["low"]) for s in said if s["low"] > 0) / len(said)
    chance = sum(by_chance(len(group)) for group in members)
    print(f"{name:10}{method:8}{len(members):7}{ours[0]:8.3f}{ours[1]:9}{ours[2]:7.3f}{wide:7.2f}"
          f"{alike[0]:9.3f}{alike[1]:9}{alike[2]:7.3f}{math.log(high / low):7.2f}{chance:10.1f}", flush=True)
    return len(members), ours[1], alike[1], chance


print(f"{'':25}{'by groups':>31}{'all alike':>33}{'by chance':>10}")
print(f"{'set':10}{'method':8}{'groups':>7}" + "".join(f"{all_held:>{room}}{'outside':>9}{'least':>7}{'wide':>7}"
                                                      for all_held, room in (("all", 8), ("all", 9))) + f"{'outside':>10}")
results = [run(name, method) for name in SETS for method in ASKED]
print("groups {}, outside of 93 to 97%: {} by groups, {} all alike, {:.0f} by chance".format(
    *(sum(column) for column in zip(*results))))
