"""Training programs of flax and optax: nets.py PROGRAM STEPS. cnn, devices (the same on two GPUs of one process), gpt, remat (the same,
what blocks compute is computed again backward), scan (the same, its blocks by lax.scan), plain (a convolutional net without flax), mlp
(a perceptron without flax), accumulate (the same, an update by the gradients of two batches). Prints
how many steps it did on which devices."""
import sys

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

PROGRAM, STEPS = sys.argv[1], int(sys.argv[2])
LAYERS, WIDTH, HEADS, LENGTH, WORDS, BATCH = 2, 64, 4, 128, 1000, 4
random = np.random.default_rng(0)


class CNN(nn.Module):
    @nn.compact
    def __call__(self, x):
        for channels in (32, 64, 128):
            x = nn.relu(nn.LayerNorm()(nn.Conv(channels, (3, 3))(x)))
            x = nn.avg_pool(x, (2, 2), (2, 2))
        x = nn.relu(nn.Dense(256)(x.reshape(x.shape[0], -1)))
        return nn.Dense(10)(x)


class Block(nn.Module):
    @nn.compact
    def __call__(self, x, _=None):
        h = nn.Dense(3 * WIDTH, name="qkv")(nn.LayerNorm()(x))
        q, k, v = jnp.split(h.reshape(*h.shape[:2], HEADS, -1), 3, -1)
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1])
        scores = jax.nn.softmax(jnp.where(np.tril(np.ones((LENGTH, LENGTH), bool)), scores, -1e9))
        h = jnp.einsum("bhqk,bkhd->bqhd", scores, v).reshape(x.shape)
        x = x + nn.Dense(WIDTH, name="out")(h)
        h = nn.gelu(nn.Dense(4 * WIDTH, name="up")(nn.LayerNorm()(x)))
        return x + nn.Dense(WIDTH, name="down")(h), None


class GPT(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(WORDS, WIDTH)(tokens) + self.param("positions", nn.initializers.normal(0.02), (LENGTH, WIDTH))
        block = nn.remat(Block) if PROGRAM == "remat" else Block
        if PROGRAM == "scan":
            blocks = nn.scan(block, variable_axes={"params": 0}, split_rngs={"params": True}, length=LAYERS)
            x, _ = blocks(name="blocks")(x, None)
        else:
            for i in range(LAYERS):
                x, _ = block(name=f"block{i}")(x)
        return nn.Dense(WORDS)(nn.LayerNorm()(x))


def numbers(*shape):
    return (random.normal(size=shape) * 0.05).astype("f")


def plain(p, x):
    for weights in (p["c1"]["w"], p["c2"]["w"]):
        x = jax.nn.relu(lax.conv_general_dilated(x, weights, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return mlp(p, x)


def mlp(p, x):
    return jax.nn.relu(x.reshape(x.shape[0], -1) @ p["f1"]["w"] + p["f1"]["b"]) @ p["f2"]["w"] + p["f2"]["b"]


if PROGRAM in ("gpt", "remat", "scan"):
    x, y = (random.integers(0, WORDS, (BATCH, LENGTH)).astype("i") for _ in range(2))
else:
    x, y = numbers(4 * BATCH, 32, 32, 3), random.integers(0, 10, 4 * BATCH).astype("i")
if PROGRAM == "plain":
    apply = plain
    params = {"c1": {"w": numbers(3, 3, 3, 32)}, "c2": {"w": numbers(3, 3, 32, 64)}, "f1": {"w": numbers(4096, 128), "b": numbers(128)},
              "f2": {"w": numbers(128, 10), "b": numbers(10)}}
elif PROGRAM in ("mlp", "accumulate"):
    apply = mlp
    params = {"f1": {"w": numbers(3072, 1024), "b": numbers(1024)}, "f2": {"w": numbers(1024, 10), "b": numbers(10)}}
else:
    net = GPT() if PROGRAM in ("gpt", "remat", "scan") else CNN()
    apply, params = net.apply, jax.jit(net.init)(jax.random.key(0), x)
optimizer = optax.adamw(1e-3)
if PROGRAM == "accumulate":
    optimizer = optax.MultiSteps(optimizer, 2)
state = jax.jit(optimizer.init)(params)


def loss(p, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(apply(p, x), y).mean()


def step(p, s, x, y):
    value, gradients = jax.value_and_grad(loss)(p, x, y)
    updates, s = optimizer.update(gradients, s, p)
    return optax.apply_updates(p, updates), s, value


devices = jax.devices()[:1]
if PROGRAM == "devices":
    devices = jax.devices()[:2]
    mesh = Mesh(np.array(devices), ("data",))
    params, state = jax.device_put((params, state), NamedSharding(mesh, PartitionSpec()))
    x, y = jax.device_put((x, y), NamedSharding(mesh, PartitionSpec("data")))
step = jax.jit(step, donate_argnums=(0, 1))
for i in range(STEPS):
    params, state, value = step(params, state, x, y)
    value.block_until_ready()
print(f"{STEPS} steps of {PROGRAM} on {len(devices)} {devices[0].platform}", flush=True)
