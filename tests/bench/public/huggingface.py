"""Trains a small model of Hugging Face's transformers, made from its configuration with random weights: huggingface.py
qwen3|llama|gemma3|mixtral|mamba|t5|gpt2|bert [amp] [lora] [trainer] [checkpoint] [compile] [attention=eager|sdpa]. lora: with PEFT's adapters;
trainer: by its Trainer, in place of a plain loop."""
import sys

import torch
import transformers as tf

SMALL = {"vocab_size": 4096, "hidden_size": 256, "num_hidden_layers": 4}
HEADS = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 512}
MADE = {
    "qwen3": lambda: tf.Qwen3ForCausalLM(tf.Qwen3Config(**SMALL, **HEADS, intermediate_size=768, head_dim=64)),
    "llama": lambda: tf.LlamaForCausalLM(tf.LlamaConfig(**SMALL, **HEADS, intermediate_size=768)),
    "gemma3": lambda: tf.Gemma3ForCausalLM(tf.Gemma3TextConfig(**SMALL, **HEADS, intermediate_size=768, head_dim=64)),
    "mixtral": lambda: tf.MixtralForCausalLM(tf.MixtralConfig(**SMALL, **HEADS, intermediate_size=512, num_local_experts=4)),
    "mamba": lambda: tf.MambaForCausalLM(tf.MambaConfig(**SMALL, state_size=16)),
    "t5": lambda: tf.T5ForConditionalGeneration(tf.T5Config(vocab_size=4096, d_model=256, d_kv=64, d_ff=768, num_layers=3, num_heads=4,
                                                            decoder_start_token_id=0)),
    "gpt2": lambda: tf.GPT2LMHeadModel(tf.GPT2Config(vocab_size=4096, n_embd=256, n_layer=4, n_head=4, n_positions=512)),
    "bert": lambda: tf.BertForMaskedLM(tf.BertConfig(**SMALL, num_attention_heads=4, intermediate_size=1024)),
}
TARGETS = {"gpt2": ["c_attn", "c_proj"]}


class Words(torch.utils.data.Dataset):
    def __len__(self):
        return 48

    def __getitem__(self, i):
        words = torch.randint(4, 4096, (256,), generator=torch.Generator().manual_seed(i))
        return {"input_ids": words, "labels": words.clone()}


def by_trainer(model):
    options = tf.TrainingArguments("trainer", per_device_train_batch_size=4, max_steps=12, report_to="none", bf16="amp" in sys.argv,
                                   save_strategy="no", logging_steps=5, gradient_checkpointing="checkpoint" in sys.argv)
    tf.Trainer(model, options, train_dataset=Words()).train()


def by_loop(model):
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-4)
    for batch in torch.utils.data.DataLoader(Words(), batch_size=4, pin_memory=True):
        batch = {name: values.cuda(non_blocking=True) for name, values in batch.items()}
        with torch.autocast("cuda", torch.bfloat16, enabled="amp" in sys.argv):
            loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


def main():
    name = sys.argv[1]
    model = MADE[name]()
    for option in sys.argv[2:]:
        if option.startswith("attention="):
            model.set_attn_implementation(option.partition("=")[2])
    if "lora" in sys.argv:
        import peft

        targets = TARGETS.get(name, ["q_proj", "k_proj", "v_proj", "o_proj"])
        model = peft.get_peft_model(model, peft.LoraConfig(r=8, lora_alpha=16, lora_dropout=0.05, target_modules=targets, task_type="CAUSAL_LM"))
    model = model.cuda().train()
    if "checkpoint" in sys.argv:
        model.gradient_checkpointing_enable()
    if "compile" in sys.argv:
        model = torch.compile(model)
    (by_trainer if "trainer" in sys.argv else by_loop)(model)


if __name__ == "__main__":
    main()
