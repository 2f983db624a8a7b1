"""Each GPU left out, pmfit transfer and its peers: see transfer.sh. transfer.py PMFIT JUSTUS SCRATCH"""
import csv
import glob
import json
import math
import os
import random
import subprocess
import sys

try:
    import numpy
    from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
    PEERS = {"forest": lambda: RandomForestRegressor(random_state=1),
             "boosting": lambda: GradientBoostingRegressor(random_state=1)}
except ImportError:
    PEERS = {}

PMFIT, JUSTUS, SCRATCH = sys.argv[1:]
KINDS = os.environ.get("KINDS", "convolution dense").split()
DRAWS = int(os.environ.get("DRAWS", "5"))
MEASURED = [int(count) for count in os.environ.get("MEASURED", "0 5").split()]
ROWS, TESTED = 1000, 1000  # of each known GPU, and of the one left out

# Single precision at boost clock and memory bandwidth of one processor, by their data sheets.
PEAKS = {"V100": (15.7e12, 900e9), "P100": (9.3e12, 732e9), "1080ti": (11.34e12, 484e9), "k80": (4.37e12, 240e9),
         "K40": (4.29e12, 288e9), "M60": (4.83e12, 160e9)}
COPIES = {0: 0, 1: 0, 2: 2, 3: 1, 4: 1, 5: 2, 6: 2}  # numbers that the optimizer keeps for a parameter
DESCRIPTORS = {"convolution": ["batchsize", "channels_in", "channels_out", "kernelsize", "matsize", "strides", "padding"],
               "dense": ["batchsize", "dim_input", "dim_output"]}


def work(kind, row):
    """Operations and bytes: forward; with an optimizer also backward and the update, of the input too, which was a variable."""
    batch = float(row["batchsize"])
    if kind == "dense":
        read, weights, made = batch * float(row["dim_input"]), float(row["dim_input"]) * float(row["dim_output"]), \
            batch * float(row["dim_output"])
        flops = 2 * batch * weights
    else:
        side, kernel, stride = float(row["matsize"]), float(row["kernelsize"]), float(row["strides"])
        out = max(math.ceil(side / stride if row["padding"] == "1" else (side - kernel + 1) / stride), 1)
        read = batch * side ** 2 * float(row["channels_in"])
        weights = kernel ** 2 * float(row["channels_in"]) * float(row["channels_out"])
        made = batch * out ** 2 * float(row["channels_out"])
        flops = 2 * made * kernel ** 2 * float(row["channels_in"])
    moved = 4 * (read + weights + made)
    optimizer = int(row["optimizer"])
    if optimizer:
        flops, moved = 3 * flops, 3 * moved + 4 * (read + weights) * (3 + 2 * COPIES[optimizer])
    return flops, moved


def load(kind):
    """By GPU: rows of flops, bytes, descriptors, words, ms."""
    rows = {}
    for path in sorted(glob.glob(f"{JUSTUS}/*benchmark_{kind}*.csv")):
        gpu = os.path.basename(path).split("-")[0]
        with open(path, encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if float(row["timeUsed_median"]) > 0:
                    rows.setdefault(gpu, []).append(
                        [*work(kind, row), *(float(row[name]) for name in DESCRIPTORS[kind]),
                         "o" + row["optimizer"], "a" + row["activation_fct"], float(row["timeUsed_median"])])
    for gpu in rows:
        random.Random(gpu).shuffle(rows[gpu])
    return rows


def write(path, kind, tables):
    with open(path, "w", encoding="utf-8") as file:
        file.write("device,flops,bytes," + ",".join(DESCRIPTORS[kind]) + ",optimizer,activation,time_ms\n")
        for gpu, rows, timed in tables:
            for row in rows:
                file.write(gpu + "," + ",".join(str(x) for x in (row if timed else row[:-1] + [""])) + "\n")


def pmfit(kind, known, gpu, measured, tested):
    table = f"{SCRATCH}/layers.csv"
    write(table, kind, [(name, rows, True) for name, rows in known.items()] + [(gpu, measured, True), (gpu, tested, False)])
    out = subprocess.run([PMFIT, "transfer", "--json", "--devices", f"{SCRATCH}/gpus.csv", "--to", gpu, table], check=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    layers = json.loads(out)["layers"]
    held = [row[-1] for row in tested]
    inside = [said["low_ns"] is not None and said["low_ns"] <= 1e6 * truth <= said["high_ns"] for said, truth in zip(layers, held)]
    plain = [said["roofline_ratio_ns"] / 1e6 for said in layers]
    return [said["predicted_ns"] / 1e6 for said in layers], sum(inside) / len(inside), plain


def mape(said, rows):
    return 100 * sum(abs(s / row[-1] - 1) for s, row in zip(said, rows)) / len(rows)


def plain_corrected(kind, gpu, measured, known, plain, tested):
    """The plain ratio, by the median of the measured rows where there are any."""
    if not measured:
        return plain
    ratio = sorted(row[-1] / roofline(gpu, row) for row in measured)[len(measured) // 2]
    return [ratio * roofline(gpu, row) for row in tested]


def roofline(gpu, row):
    return 1e3 * (row[0] / PEAKS[gpu][0] + row[1] / PEAKS[gpu][1]) + 0.05


def features(gpu, row):
    return [math.log(x) for x in PEAKS[gpu]] + [math.log(x) if x > 0 else -1 for x in row[:-3]] + \
        [float(row[-3] == f"o{k}") for k in range(7)] + [float(row[-2] == f"a{k}") for k in range(4)]


def peer(name, known, gpu, measured, tested):
    pairs = [(g, row) for g, rows in known.items() for row in rows] + [(gpu, row) for row in measured]
    x = numpy.array([features(g, row) for g, row in pairs])
    y = numpy.array([math.log(row[-1]) for _, row in pairs])
    learner = PEERS[name]().fit(x, y)
    return numpy.exp(learner.predict(numpy.array([features(gpu, row) for row in tested])))


with open(f"{SCRATCH}/gpus.csv", "w", encoding="utf-8") as gpus:
    gpus.write("device,flops,bandwidth\n")
    for name, (flops, bandwidth) in PEAKS.items():
        gpus.write(f"{name},{flops},{bandwidth}\n")
print(f"{'kind':13}{'left out':10}{'measured':>9}{'transfer':>10}{'held':>7}{'ratio':>8}" + "".join(f"{p:>10}" for p in PEERS))
tried, worst = False, 0
for kind in KINDS:
    data = load(kind)
    if len(data) < 3:
        print(f"{kind}: {len(data)} GPUs, at least three are needed")
        continue
    tried = True
    for gpu in sorted(data):
        known = {name: rows[:ROWS] for name, rows in data.items() if name != gpu}
        for count in MEASURED:
            sums = {}
            draws = DRAWS if count else 1
            for draw in range(draws):
                rows = data[gpu][:TESTED + count]
                random.Random(draw).shuffle(rows)
                measured, tested = rows[:count], rows[count:]
                said, held, plain = pmfit(kind, known, gpu, measured, tested)
                figures = {"transfer": mape(said, tested), "held": held,
                           "ratio": mape(plain_corrected(kind, gpu, measured, known, plain, tested), tested)}
                for name in PEERS if draw == 0 else []:
                    figures[name] = draws * mape(peer(name, known, gpu, measured, tested), tested)
                for name, figure in figures.items():
                    sums[name] = sums.get(name, 0) + figure / draws
            print(f"{kind:13}{gpu:10}{count:9}{sums['transfer']:10.1f}{sums['held']:7.3f}{sums['ratio']:8.1f}" +
                  "".join(f"{sums[p]:10.1f}" for p in PEERS), flush=True)
            worst = max(worst, sums["transfer"])
sys.exit(77 if not tried else worst > float(os.environ.get("LIMIT", "inf")))
