"""What the programs of this folder have in common: their options, and the training images of a folder that mkdata wrote."""
import argparse
import os

import numpy

# learned parameters of each network, which every framework must have
PARAMETERS = {"cnn": 44426, "mlp": 535818, "autoencoder": 209968}

# with momentum 0.9; at 0.05 LeNet's loss does not fall
LEARNING_RATE = 0.01


def options(**switches):
    """Those of all programs; switches: further ones of a program, with their help."""
    parser = argparse.ArgumentParser()
    parser.add_argument("net", choices=PARAMETERS)
    parser.add_argument("--data", default="data", help="folder with MNIST's files, or those of mkdata (default: data)")
    parser.add_argument("--batch", type=int, default=384, help="images per iteration, over all GPUs (default: 384)")
    parser.add_argument("--steps", type=int, default=40, help="iterations (default: 40)")
    parser.add_argument("--gpus", type=int, default=1, help="GPUs of the program (default: 1)")
    for name, text in switches.items():
        parser.add_argument(f"--{name}", action="store_true", help=text)
    return parser.parse_args()


def check(net, parameters):
    assert parameters == PARAMETERS[net], f"{net}: {parameters} parameters, not {PARAMETERS[net]}"


def read_idx(path):
    with open(path, "rb") as file:
        ndims = file.read(4)[3]
        dims = numpy.frombuffer(file.read(4 * ndims), ">i4")
        return numpy.frombuffer(file.read(), numpy.uint8).reshape(dims)


def images(folder):
    """Floats from 0 to 1, [n, 28, 28], and labels, [n]."""
    pixels = read_idx(os.path.join(folder, "train-images-idx3-ubyte"))
    labels = read_idx(os.path.join(folder, "train-labels-idx1-ubyte"))
    return pixels.astype(numpy.float32) / 255, labels.astype(numpy.int32)
