"""Intervals of runs and of their mean beside statsmodels': see runs.sh. runs.py PMFIT SCRATCH TABLES"""
import csv
import json
import math
import os
import random
import subprocess
import sys

import numpy
import statsmodels
import statsmodels.api

PMFIT, SCRATCH, TABLES = sys.argv[1], sys.argv[2], int(sys.argv[3])
GPUS, BATCHES, BETWEEN = (1, 2, 4, 8), (8, 16, 32, 64, 128), (12, 24, 48, 96)


def step(g, b):
    """A step on one node: 2 ms, 0.05 ms a sample, an exchange in a tree."""
    return 2 + 0.05 * b + 0.4 * math.log2(g)


def product(g, b):
    return 3 * b**0.8 * g**-0.7


def runs(truth, batches, repeats, noise, draw):
    return [(g, b, truth(g, b) * math.exp(noise * draw.gauss(0, 1))) for g in GPUS for b in batches for _ in range(repeats)]


def write(name, rows):
    with open(f"{SCRATCH}/{name}.csv", "w", encoding="utf-8") as file:
        csv.writer(file).writerows([("gpus", "batch", "time"), *rows])
    return f"{SCRATCH}/{name}.csv"


def pmfit(fit, fitted, asked):
    """(low, high, mean low, mean high) of each asked row; NAN: not said."""
    model = f"{SCRATCH}/model.json"
    subprocess.run([PMFIT, *fit, "--time", "time", "-o", model, fitted], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    said = subprocess.run([PMFIT, "predict", "--json", "--time", "time", model, asked], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return [tuple(math.nan if row.get(key) is None else row[key] for key in ("low", "high", "mean_low", "mean_high"))
            for row in json.loads(said.stdout)["rows"]]


def frame(result, design, **more):
    summary = result.get_prediction(design, **more).summary_frame(alpha=0.05)
    return list(zip(summary["obs_ci_lower"], summary["obs_ci_upper"], summary["mean_ci_lower"], summary["mean_ci_upper"]))


def peer_step(fitted, asked):
    """Weighted least squares of the right form: errors in proportion to the time, by two passes."""
    def design(rows):
        return numpy.array([(1, b, math.log2(g)) for g, b, _ in rows])

    times, weights = numpy.array([t for _, _, t in fitted]), numpy.ones(len(fitted))
    for _ in range(3):
        result = statsmodels.api.WLS(times, design(fitted), weights=weights).fit()
        weights = 1 / result.predict(design(fitted))**2
    return frame(result, design(asked), weights=1 / result.predict(design(asked))**2)


def peer_product(fitted, asked):
    """Least squares of logarithms."""
    def design(rows):
        return numpy.array([(1, math.log(b), math.log(g)) for g, b, _ in rows])

    result = statsmodels.api.OLS(numpy.log([t for _, _, t in fitted]), design(fitted)).fit()
    return [tuple(map(math.exp, row)) for row in frame(result, design(asked))]


METHODS = {
    "step": (step, [("pmfit step", ["step", "--batch-is", "local"]), ("statsmodels", peer_step)]),
    "product": (product, [("pmfit fit", ["fit", "-q", "--extrinsic", "batch,gpus", "--seeds", "2", "--bootstrap", "60", "--bounds-constant", "0,0.000001"]),
                          ("pmfit search", ["search", "-q", "--work", "0.3", "--extrinsic", "batch,gpus"]), ("statsmodels", peer_product)]),
}


def held(intervals, values, first):
    known = [(row, value) for row, value in zip(intervals, values) if row[first] == row[first]]
    if not known:
        return math.nan, math.nan
    return (sum(row[first] <= value <= row[first + 1] for row, value in known) / len(known),
            sum(math.log(row[first + 1] / max(row[first], 1e-9)) for row, _ in known) / len(known))


def measure(truth, method, repeats, noise):
    """Shares held and widths, means over tables: of new runs, and of the truth by intervals of the mean."""
    found = []
    for table in range(TABLES):
        draw = random.Random(f"{table} {repeats} {noise}")
        fitted = runs(truth, BATCHES, repeats, noise, draw)
        asked = runs(truth, BATCHES + BETWEEN, 1, noise, draw)
        intervals = method(fitted, asked) if callable(method) else pmfit(method, write("fitted", fitted), write("asked", asked))
        found.append(held(intervals, [t for _, _, t in asked], 0) + held(intervals, [truth(g, b) for g, b, _ in asked], 2))
    return [numpy.mean([row[i] for row in found]) for i in range(4)]


print("statsmodels", statsmodels.__version__, "-", TABLES, "tables a line; 95% intervals: % held, log of high over low")
print(f"{'truth':9}{'noise':>6}{'runs':>5}  {'by':14}{'a run':>8}{'width':>7}{'mean':>8}{'width':>7}")
for name, (law, methods) in METHODS.items():
    for level in (0.05, 0.2):
        for count in (1, 3, 30):
            for who, how in methods:
                run, width, mean, mean_width = measure(law, how, count, level)
                print(f"{name:9}{100 * level:5.0f}%{count:5}  {who:14}{100 * run:7.1f}%{width:7.3f}"
                      + (f"{100 * mean:7.1f}%{mean_width:7.3f}" if mean == mean else f"{'-':>8}{'-':>7}"), flush=True)
