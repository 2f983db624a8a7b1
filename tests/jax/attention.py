"""cuDNN's attention as XLA writes it, against the formula on the CPU; inputs come from the host, as softgpu computes none of XLA's kernels."""
import sys

import jax
import ml_dtypes
import numpy as np

SHAPE = 2, 128, 4, 64


def attend(q, k, v):
    return jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="cudnn")


def formula(q, k, v):
    q, k, v = (t.astype(np.float32).transpose(0, 2, 1, 3) for t in (q, k, v))
    scores = np.where(np.tril(np.ones(2 * SHAPE[1:2], bool)), q @ k.transpose(0, 1, 3, 2) / np.sqrt(SHAPE[-1]), -np.inf)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    return (p / p.sum(-1, keepdims=True) @ v).transpose(0, 2, 1, 3)


host = [np.random.default_rng(i).standard_normal(SHAPE).astype(ml_dtypes.bfloat16) for i in range(3)]
device = [jax.device_put(t) for t in host]
error = np.abs(np.asarray(jax.jit(attend)(*device)).astype(np.float32) - formula(*host)).max()
_, pull = jax.vjp(jax.jit(attend), *device)
gradients = jax.block_until_ready(pull(device[0]))
print(f"largest difference {error:.4f}")
sys.exit(not error < 0.03 or [g.shape for g in gradients] != 3 * [SHAPE])
