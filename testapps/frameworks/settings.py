"""What the programs of this folder have in common: their options, and the training images of a folder that mkdata wrote."""
import argparse
import os

import numpy

NETS = "cnn", "mlp", "autoencoder"
FILTERS = 6

# with momentum 0.9; at 0.05 LeNet's loss does not fall
LEARNING_RATE = 0.01


def options(**switches):
    """Those of all programs; switches: further ones of a program, with their help."""
    parser = argparse.ArgumentParser()
    parser.add_argument("net", choices=NETS)
    parser.add_argument("--data", default="data", help="folder with MNIST's files, or those of mkdata (default: data)")
    parser.add_argument("--batch", type=int, default=384, help="images per iteration, over all GPUs (default: 384)")
    parser.add_argument("--steps", type=int, default=40, help="iterations (default: 40)")
    parser.add_argument("--gpus", type=int, default=1, help="GPUs of the program (default: 1)")
    parser.add_argument("--filters", type=int,
                        help=f"of the cnn's first convolution; the second has 8/3 as many, rounded (default: {FILTERS})")
    for name, text in switches.items():
        parser.add_argument(f"--{name}", action="store_true", help=text)
    chosen = parser.parse_args()
    if chosen.filters is not None and (chosen.net != "cnn" or chosen.filters < 1):
        parser.error("--filters: expected a number from 1 on, and the cnn")
    return chosen


def sizes(chosen):
    """What a program's network takes besides its defaults."""
    return {"filters": chosen.filters} if chosen.filters else {}


def filters_of_second(filters):
    return round(filters * 8 / 3)


def parameters_of(net, filters=FILTERS):
    """Learned parameters of a network, which every framework must have."""
    second = filters_of_second(filters)
    layers = {
        "cnn": [(25, filters), (25 * filters, second), (16 * second, 120), (120, 84), (84, 10)],
        "mlp": [(784, 512), (512, 256), (256, 10)],
        "autoencoder": [(784, 128), (128, 32), (32, 128), (128, 784)],
    }
    return sum((inputs + 1) * outputs for inputs, outputs in layers[net])


def check(chosen, parameters):
    expected = parameters_of(chosen.net, **sizes(chosen))
    assert parameters == expected, f"{chosen.net}: {parameters} parameters, not {expected}"


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
