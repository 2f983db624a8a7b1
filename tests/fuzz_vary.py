"""Adds to each folder of seeds what is left of them when they are cut short, and when single bytes change: fuzz_vary.py FOLDER.
What is changed is drawn from a fixed seed."""
import os
import random
import sys

random.seed(1)
for target in sorted(os.listdir(sys.argv[1])):
    folder = os.path.join(sys.argv[1], target)
    if target == "made":
        continue
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            seed = file.read()
        for i in range(12):
            data = bytearray(seed[: random.randrange(len(seed) + 1)] if i % 3 == 0 else seed)
            for _ in range(i % 3 * 2):
                if data:
                    data[random.randrange(len(data))] = random.choice((0, 10, 27, 34, 91, 127, 128, 255, random.randrange(256)))
            with open(os.path.join(folder, f"{name}.{i}"), "wb") as file:
                file.write(data)
