"""LeNet-5, a multi-layer perceptron or an autoencoder in Keras 3, one script for its backends: KERAS_BACKEND=torch, jax or tensorflow."""
import itertools

import keras
import numpy
from keras import layers

import settings


def lenet(filters=settings.FILTERS):
    return [
        layers.Conv2D(filters, 5, activation="relu"), layers.MaxPooling2D(),
        layers.Conv2D(settings.filters_of_second(filters), 5, activation="relu"), layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(120, activation="relu"), layers.Dense(84, activation="relu"), layers.Dense(10),
    ]


def dense(widths, last):
    hidden = [layers.Dense(width, activation="relu") for width in widths[:-1]]
    return [layers.Flatten(), *hidden, layers.Dense(widths[-1], activation=last)]


NETS = {
    "cnn": lenet,
    "mlp": lambda: dense([512, 256, 10], None),
    "autoencoder": lambda: dense([128, 32, 128, 784], "sigmoid"),
}


def batches(x, y, size):
    random = numpy.random.default_rng(0)
    while True:
        order = random.permutation(len(x))
        for at in range(0, len(x) - size + 1, size):
            chosen = order[at:at + size]
            yield x[chosen], y[chosen]


def main():
    options = settings.options()
    x, y = settings.images(options.data)
    model = keras.Sequential([keras.Input((28, 28, 1)), *NETS[options.net](**settings.sizes(options))])
    model.compile(
        optimizer=keras.optimizers.SGD(settings.LEARNING_RATE, momentum=0.9), jit_compile=keras.backend.backend() == "jax",
        loss="mse" if options.net == "autoencoder" else keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    settings.check(options, model.count_params())
    target = x.reshape(len(x), -1) if options.net == "autoencoder" else y
    for step, (image, label) in enumerate(itertools.islice(batches(x[..., None], target, options.batch), options.steps)):
        loss = model.train_on_batch(image, label)
        if step % 10 == 0:
            print(f"step {step}: loss {float(loss):.4f}", flush=True)


if __name__ == "__main__":
    main()
