"""What a framework says of the networks of testapps/frameworks, without a GPU: counts.py pytorch|jax|tensorflow STEPS FOLDER. Prints lines
`NET parameters N`, `NET flops N`, of one image's forward pass, of products and convolutions alone, and `NET loss L...` of some steps in the
framework's own words: FlopCounterMode, XLA's cost analysis, TensorFlow's profiler of graphs.
"""
import contextlib
import io
import os
import sys

import numpy

framework, steps, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
sys.path.insert(0, os.path.join(os.environ["SOURCE"], "testapps", "frameworks"))
BATCH = 128


def pytorch(net):
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    import train_pytorch
    model = train_pytorch.NETS[net]()
    with FlopCounterMode(display=False) as counter:
        model(torch.zeros(1, 1, 28, 28))
    return sum(p.numel() for p in model.parameters()), counter.get_total_flops()


def jax(net):
    import jax

    import train_jax
    image = numpy.zeros((1, 28, 28, 1), numpy.float32)
    model = train_jax.NETS[net]()
    params = jax.eval_shape(model.init, jax.random.key(0), image)
    total = jax.jit(model.apply).lower(params, image).cost_analysis()["flops"]
    # of each layer's outputs: a sum and, but for the last, a comparison; of a pooled one, the three comparisons of its window
    outputs, pooled = {"cnn": ([3456, 1024, 120, 84, 10], 864 + 256), "mlp": ([512, 256, 10], 0),
                       "autoencoder": ([128, 32, 128, 784], 0)}[net]
    return sum(p.size for p in jax.tree.leaves(params)), int(total) - sum(outputs) - sum(outputs[:-1]) - 3 * pooled


def tensorflow(net):
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    import train_tensorflow
    model = tf.keras.Sequential([tf.keras.Input((28, 28, 1)), *train_tensorflow.NETS[net]()])
    function = tf.function(lambda x: model(x)).get_concrete_function(tf.TensorSpec((1, 28, 28, 1)))
    profiler = tf.compat.v1.profiler
    options = profiler.ProfileOptionBuilder(profiler.ProfileOptionBuilder.float_operation()).with_empty_output().build()
    node = profiler.profile(convert_variables_to_constants_v2(function).graph, cmd="op", options=options)
    flops = 0
    while node.children:
        node = node.children[0]
        flops += node.float_ops if node.name in ("Conv2D", "MatMul") else 0
    return model.count_params(), flops


def losses(net):
    """Of each step of the program itself, which prints every tenth: so of one step, of eleven, and so on."""
    sys.argv = [f"train_{framework}.py", net, "--data", folder, "--batch", str(BATCH), "--steps", str(steps)]
    with contextlib.redirect_stdout(io.StringIO()) as said:
        __import__(f"train_{framework}").main()
    return [line.split()[-1] for line in said.getvalue().splitlines() if line.startswith("step")]


for net in ("cnn", "mlp", "autoencoder"):
    with contextlib.redirect_stdout(sys.stderr):
        parameters, flops = {"pytorch": pytorch, "jax": jax, "tensorflow": tensorflow}[framework](net)
    print(net, "parameters", parameters)
    print(net, "flops", flops)
    print(net, "loss", *losses(net), flush=True)
