"""A step that gets its batch from a slow tf.data pipeline within its graph: input.py STEPS. Prints by TensorFlow's clock how long it
waits for it, the mean in ms without the first two steps."""
import sys
import time

import tensorflow as tf

steps, batch = int(sys.argv[1]), 64


def slow():
    image = tf.random.stateless_uniform((batch, 28, 28, 1), (1, 2)).numpy()
    while True:
        time.sleep(0.04)
        yield image, [number % 10 for number in range(batch)]


data = tf.data.Dataset.from_generator(slow, output_signature=(
    tf.TensorSpec((batch, 28, 28, 1), tf.float32), tf.TensorSpec((batch,), tf.int32)))
model = tf.keras.Sequential([
    tf.keras.Input((28, 28, 1)), tf.keras.layers.Conv2D(6, 5, activation="relu"), tf.keras.layers.Flatten(), tf.keras.layers.Dense(10)])
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = tf.keras.optimizers.SGD(0.01, momentum=0.9)


@tf.function
def train_step(iterator):
    start = tf.timestamp()
    with tf.control_dependencies([start]):
        image, label = next(iterator)
    with tf.control_dependencies([image]):
        end = tf.timestamp()
    with tf.GradientTape() as tape:
        loss = loss_of(label, model(image, training=True))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss, start, end


iterator, waits = iter(data), []
for _ in range(steps):
    loss, start, end = train_step(iterator)
    waits.append(float(end) - float(start))
    float(loss)
print(f"{steps} steps, waiting {1000 * sum(waits[2:]) / (steps - 2):.3f} ms")
