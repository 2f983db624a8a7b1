"""MultiWorkerMirroredStrategy as TensorFlow's guide to training loops has it, one GPU a process: workers.py STEPS, under pmrun -n N.
Keras' own loop, model.fit, does not run below this strategy since Keras 3."""
import json
import os
import sys

import tensorflow as tf

rank, ranks, port = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "MASTER_PORT"))
os.environ["TF_CONFIG"] = json.dumps({
    "cluster": {"worker": [f"127.0.0.1:{port + 1 + i}" for i in range(ranks)]}, "task": {"type": "worker", "index": rank}})
tf.config.set_visible_devices(tf.config.list_physical_devices("GPU")[rank], "GPU")
collectives = tf.distribute.experimental.CommunicationImplementation.NCCL
strategy = tf.distribute.MultiWorkerMirroredStrategy(
    communication_options=tf.distribute.experimental.CommunicationOptions(implementation=collectives))
steps, batch = int(sys.argv[1]), 64

with strategy.scope():
    model = tf.keras.Sequential([
        tf.keras.Input((28, 28, 1)),
        tf.keras.layers.Conv2D(6, 5, activation="relu"), tf.keras.layers.MaxPooling2D(),
        tf.keras.layers.Flatten(), tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(10)])
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="sum")
    optimizer = tf.keras.optimizers.SGD(0.01, momentum=0.9)


def replica_step(image, label):
    with tf.GradientTape() as tape:
        loss = loss_of(label, model(image, training=True)) / (batch * ranks)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


@tf.function
def train_step(image, label):
    losses = strategy.run(replica_step, args=(image, label))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)


def batches(_):
    image = tf.random.stateless_uniform((10 * batch, 28, 28, 1), (1, rank))
    return tf.data.Dataset.from_tensor_slices((image, tf.range(10 * batch) % 10)).repeat().batch(batch)


iterator = iter(strategy.distribute_datasets_from_function(batches))
for _ in range(steps):
    loss = train_step(*next(iterator))
print(f"{steps} steps of {strategy.num_replicas_in_sync} replicas")
