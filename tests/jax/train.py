"""A training program of JAX: train.py PROGRAM STEPS, where PROGRAM is mlp, conv, shard (two GPUs of one process) or processes (two
processes with a GPU each, by RANK, MASTER_ADDR and MASTER_PORT). Prints a line for each step and how many it did on which devices."""
import os
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

PROGRAM, STEPS = sys.argv[1], int(sys.argv[2])
if PROGRAM == "processes":
    RANK = int(os.environ["RANK"])
    jax.distributed.initialize(os.environ["MASTER_ADDR"] + ":" + os.environ["MASTER_PORT"], 2, RANK, local_device_ids=[RANK])
random = np.random.default_rng(0)


def numbers(*shape):
    return (random.normal(size=shape) * 0.05).astype("f")


def mlp(p, x):
    return jax.nn.relu(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]


def convolution(h, w):
    h = jax.nn.relu(lax.conv_general_dilated(h, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
    return lax.reduce_window(h, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def conv(p, x):
    h = convolution(convolution(x, p["c1"]), p["c2"])
    return h.reshape(h.shape[0], -1) @ p["w2"] + p["b2"]


def loss(p, x, y):
    return jnp.mean((NET(p, x) - y) ** 2)


@jax.jit
def step(p, x, y):
    value, gradients = jax.value_and_grad(loss)(p, x, y)
    return jax.tree.map(lambda a, g: a - 0.1 * g, p, gradients), value


if PROGRAM == "conv":
    NET, x = conv, numbers(64, 32, 32, 3)
    p = {"c1": numbers(3, 3, 3, 32), "c2": numbers(3, 3, 32, 64), "w2": numbers(4096, 10), "b2": numbers(10)}
else:
    NET, x = mlp, numbers(256, 512)
    p = {"w1": numbers(512, 1024), "b1": numbers(1024), "w2": numbers(1024, 10), "b2": numbers(10)}
y = numbers(len(x), 10)
devices = jax.devices()[:1]
if PROGRAM in ("shard", "processes"):
    devices = jax.devices()[:2]
    mesh = Mesh(np.array(devices), ("data",))
    whole, divided = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("data"))
    if PROGRAM == "shard":
        p, x, y = jax.device_put(p, whole), jax.device_put(x, divided), jax.device_put(y, divided)
    else:
        half = slice(128 * RANK, 128 * RANK + 128)
        x, y = (jax.make_array_from_process_local_data(divided, a[half]) for a in (x, y))
        p = jax.tree.map(lambda a: jax.make_array_from_process_local_data(whole, a), p)
for i in range(STEPS):
    p, value = step(p, x, y)
    value.block_until_ready()
print(f"{STEPS} steps of {PROGRAM} on {len(devices)} {devices[0].platform}", flush=True)
