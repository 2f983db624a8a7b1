"""Trains a small convolutional network on synthetic images with JAX: an ordinary program, jax alone.

    python3 train_jax.py --steps 60 --batch 256

prints the loss every 10 steps; its own time per step goes to standard error. Exit status 77 where JAX has no GPU.
"""
import argparse
import statistics
import sys
import time

try:
    import jax
    import jax.numpy as jnp
    from jax import lax
except ImportError as trouble:
    print("no JAX: %s" % trouble, file=sys.stderr)
    sys.exit(77)

WIDTHS = (3, 32, 64, 128)


def init(key, classes):
    params = []
    for inputs, outputs in zip(WIDTHS, WIDTHS[1:]):
        key, part = jax.random.split(key)
        weight = jax.random.normal(part, (3, 3, inputs, outputs)) * (2.0 / (9 * inputs)) ** 0.5
        params.append((weight, jnp.zeros(outputs)))
    key, part = jax.random.split(key)
    return params, jax.random.normal(part, (WIDTHS[-1], classes)) * WIDTHS[-1] ** -0.5


def network(params, x):
    convolutions, dense = params
    for weight, bias in convolutions:
        x = lax.conv_general_dilated(x, weight, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = jax.nn.relu(x + bias)
    return x.mean((1, 2)) @ dense


def loss_of(params, x, y):
    logits = network(params, x)
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], axis=1))


@jax.jit
def step(params, x, y):
    loss, gradients = jax.value_and_grad(loss_of)(params, x, y)
    return loss, jax.tree_util.tree_map(lambda p, g: p - 0.05 * g, params, gradients)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--steps", type=int, default=60)
    p.add_argument("--batch", type=int, default=256)
    p.add_argument("--every", type=int, default=10)
    p.add_argument("--size", type=int, default=64)
    p.add_argument("--classes", type=int, default=10)
    p.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    options = p.parse_args()
    if options.steps < 2 * options.every:
        p.error("--steps must be at least twice --every")
    try:
        device = jax.devices(options.device)[0]
    except RuntimeError as trouble:
        print("no GPU for JAX %s: %s" % (jax.__version__, trouble), file=sys.stderr)
        sys.exit(77)
    jax.config.update("jax_default_device", device)
    key = jax.random.PRNGKey(1)
    params = init(key, options.classes)
    data = [
        (
            jax.random.normal(jax.random.fold_in(key, i), (options.batch, options.size, options.size, 3)),
            jax.random.randint(jax.random.fold_in(key, 100 + i), (options.batch,), 0, options.classes),
        )
        for i in range(4)
    ]
    blocks_ms, begin = [], time.perf_counter()
    for i in range(options.steps):
        loss, params = step(params, *data[i % len(data)])
        if (i + 1) % options.every == 0:
            print("step %d loss %.6f" % (i + 1, float(loss)), flush=True)
            now = time.perf_counter()
            if i >= options.steps // 2:
                blocks_ms.append((now - begin) * 1000 / options.every)
            begin = time.perf_counter()
    print("step_ms %.4f" % statistics.median(blocks_ms), file=sys.stderr)


if __name__ == "__main__":
    main()
