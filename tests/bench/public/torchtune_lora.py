"""torchtune's Llama 3.2 with its LoRA layers, its loss in chunks and activation checkpointing, in the loop of its single-device recipe.
It wants an older torchao than PEFT: TORCHAO is the folder that has it."""
import os
import sys

import torch

sys.path.append(os.environ.get("TORCHAO", ""))
from torchtune.models.llama3_2 import lora_llama3_2
from torchtune.modules import TransformerSelfAttentionLayer
from torchtune.modules.loss import CEWithChunkedOutputLoss
from torchtune.modules.peft import get_adapter_params, set_trainable_params
from torchtune.training import set_activation_checkpointing

with torch.device("cuda"):
    model = lora_llama3_2(["q_proj", "v_proj", "output_proj"], apply_lora_to_mlp=True, vocab_size=4096, num_layers=4, num_heads=4, num_kv_heads=2,
                          embed_dim=256, max_seq_len=512, intermediate_dim=768, lora_rank=8, lora_alpha=16)
model = model.to(torch.bfloat16)
set_trainable_params(model, get_adapter_params(model))
set_activation_checkpointing(model, auto_wrap_policy={TransformerSelfAttentionLayer})
loss_of = CEWithChunkedOutputLoss()
model.set_num_output_chunks(loss_of.num_output_chunks)
optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=3e-4, fused=True)
for step in range(12):
    words = torch.randint(4096, (4, 257)).cuda()
    output = model(words[:, :-1])
    loss = loss_of(output, words[:, 1:])
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
