"""SciPy's differential evolution, at its defaults, on the generic model (4.4): what `pmfit` is compared with by fit.sh.

    fit_scipy.py TABLE LAMBDA SEEDS INTRINSIC CATEGORICAL EXTRINSIC

The lists are separated by commas. The table has columns `time` and `split` (train). Prints a line for each seed: cost, seconds,
evaluations, whether SciPy calls it a success. The objective is NumPy's, a candidate at a time, with powers taken once per distinct
value.
"""
import csv
import sys
import time

import numpy as np
from scipy.optimize import differential_evolution

table, penalty, seeds, intrinsic, categorical, extrinsic = sys.argv[1:]
penalty = float(penalty)
intrinsic, categorical, extrinsic = intrinsic.split(","), categorical.split(","), extrinsic.split(",")
rows = [row for row in csv.DictReader(open(table)) if row["split"] == "train"]
measured = np.array([float(row["time"]) for row in rows])
values, places = zip(*(np.unique([float(row[c]) for row in rows], return_inverse=True) for c in intrinsic))
levels = [np.unique([row[c] for row in rows], return_inverse=True) for c in categorical]
logs = np.log([[float(row[c]) for c in extrinsic] for row in rows])
combinations, combination = np.unique(logs, axis=0, return_inverse=True)
combination = combination.ravel()
n, level_count = len(intrinsic), sum(len(words) for words, _ in levels)
bounds = [(0, 1000)] * (n + level_count + 1) + [(-5, 5)] * (n + len(extrinsic))


def cost(x):
    a, c, constant = x[:n], x[n : n + level_count], x[n + level_count]
    p, q = x[n + level_count + 1 : n + level_count + 1 + n], x[n + level_count + 1 + n :]
    total = np.zeros(len(measured))
    for i in range(n):
        total += (a[i] * values[i] ** p[i])[places[i]]
    at = 0
    for words, place in levels:
        total += c[at : at + len(words)][place]
        at += len(words)
    total = total * np.exp(combinations @ q)[combination] + constant
    error = np.mean(np.abs(measured - total))
    if penalty:
        error += penalty * (np.sum(x * x) - constant * constant)
    return error


for seed in range(1, int(seeds) + 1):
    begin = time.perf_counter()
    result = differential_evolution(cost, bounds, seed=seed)
    print(f"{result.fun:.6g} {time.perf_counter() - begin:.2f} {result.nfev} {int(result.success)}", flush=True)
