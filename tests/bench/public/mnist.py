"""Random pictures as files of MNIST, for programs that would download it: mnist.py FOLDER [COUNT]."""
import os
import sys

import numpy

folder, count = os.path.join(sys.argv[1], "MNIST", "raw"), int(sys.argv[2]) if len(sys.argv) > 2 else 2048
os.makedirs(folder, exist_ok=True)
numbers = numpy.random.default_rng(1)
for part in ("train", "t10k"):
    with open(os.path.join(folder, part + "-images-idx3-ubyte"), "wb") as file:
        file.write(numpy.array([2051, count, 28, 28], ">i4").tobytes() + numbers.integers(0, 255, (count, 28, 28), dtype=numpy.uint8).tobytes())
    with open(os.path.join(folder, part + "-labels-idx1-ubyte"), "wb") as file:
        file.write(numpy.array([2049, count], ">i4").tobytes() + numbers.integers(0, 9, count, dtype=numpy.uint8).tobytes())
