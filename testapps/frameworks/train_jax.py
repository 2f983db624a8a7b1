"""LeNet-5, a multi-layer perceptron or an autoencoder in JAX with flax and optax; on several GPUs with the batch sharded over a mesh."""
import jax
import jax.numpy as jnp
import numpy
import optax
from flax import linen as nn
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import settings


class LeNet(nn.Module):
    filters: int = settings.FILTERS

    @nn.compact
    def __call__(self, x):
        second = settings.filters_of_second(self.filters)
        x = nn.max_pool(nn.relu(nn.Conv(self.filters, (5, 5), padding="VALID", name="conv1")(x)), (2, 2), (2, 2))
        x = nn.max_pool(nn.relu(nn.Conv(second, (5, 5), padding="VALID", name="conv2")(x)), (2, 2), (2, 2))
        x = nn.relu(nn.Dense(120, name="fc1")(x.reshape(len(x), -1)))
        return nn.Dense(10, name="fc3")(nn.relu(nn.Dense(84, name="fc2")(x)))


class Dense(nn.Module):
    widths: tuple

    @nn.compact
    def __call__(self, x):
        x = x.reshape(len(x), -1)
        for i, width in enumerate(self.widths, 1):
            x = nn.Dense(width, name=f"fc{i}")(x)
            x = nn.relu(x) if i < len(self.widths) else x
        return x


NETS = {"cnn": LeNet, "mlp": lambda: Dense((512, 256, 10)), "autoencoder": lambda: Dense((128, 32, 128, 784))}


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
    model = NETS[options.net](**settings.sizes(options))
    optimizer = optax.sgd(settings.LEARNING_RATE, momentum=0.9)
    mesh = Mesh(jax.devices()[:options.gpus], ("data",))
    everywhere, divided = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("data"))

    params = jax.device_put(model.init(jax.random.key(0), x[:1, :, :, None]), everywhere)
    settings.check(options, sum(p.size for p in jax.tree.leaves(params)))
    state = jax.device_put(optimizer.init(params), everywhere)

    def loss_of(params, image, label):
        output = model.apply(params, image)
        if options.net == "autoencoder":
            return jnp.mean((nn.sigmoid(output) - image.reshape(len(image), -1)) ** 2)
        return optax.softmax_cross_entropy_with_integer_labels(output, label).mean()

    @jax.jit
    def train_step(params, state, image, label):
        loss, gradients = jax.value_and_grad(loss_of)(params, image, label)
        updates, state = optimizer.update(gradients, state)
        return optax.apply_updates(params, updates), state, loss

    for step, (image, label) in zip(range(options.steps), batches(x[..., None], y, options.batch)):
        image, label = jax.device_put((image, label), divided)
        params, state, loss = train_step(params, state, image, label)
        if step % 10 == 0:
            print(f"step {step}: loss {loss:.4f}", flush=True)


if __name__ == "__main__":
    main()
