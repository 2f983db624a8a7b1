"""LeNet-5, a multi-layer perceptron or an autoencoder in TensorFlow with Keras; on several GPUs with MirroredStrategy."""
import tensorflow as tf
from tensorflow.keras import layers

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


class Print(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch % 10 == 0:
            print(f"step {batch}: loss {logs['loss']:.4f}", flush=True)


def main():
    options = settings.options(xla="compile the step with XLA (default: not)")
    x, y = settings.images(options.data)
    target = x.reshape(len(x), -1) if options.net == "autoencoder" else y
    data = tf.data.Dataset.from_tensor_slices((x[..., None], target))
    data = data.shuffle(len(x)).repeat().batch(options.batch, drop_remainder=True).prefetch(tf.data.AUTOTUNE)

    if options.gpus > 1:
        strategy = tf.distribute.MirroredStrategy([f"GPU:{i}" for i in range(options.gpus)])
    else:
        strategy = tf.distribute.get_strategy()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.Input((28, 28, 1)), *NETS[options.net](**settings.sizes(options))])
        model.compile(
            optimizer=tf.keras.optimizers.SGD(settings.LEARNING_RATE, momentum=0.9), jit_compile=options.xla,
            loss="mse" if options.net == "autoencoder" else tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    settings.check(options, model.count_params())
    model.fit(data, steps_per_epoch=options.steps, epochs=1, verbose=0, callbacks=[Print()])


if __name__ == "__main__":
    main()
