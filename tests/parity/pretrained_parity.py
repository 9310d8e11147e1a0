"""usage: pretrained_parity.py save FAMILY DIR
       pretrained_parity.py compare DIR DUMP

save: transformers makes a random model of the shape that dump_run trains, and saves it as the family's releases are
saved: GPT-2 as one file without the language model's prefix, LLaMA in many files of bfloat16, BLOOM in many files of
float16 without prefix.

compare: the weights that a run started with, from dump_run, are those that transformers loads from DIR, bit for bit,
and the loss of its first step is that of transformers on the same tokens.
"""
import json
import pathlib
import sys

import torch
import torch.nn.functional as F
import transformers

import comparison
import gpt2_reference as reference

LIMIT = 1e-5  # of the loss, relative


def config_of(family):
    if family == "gpt2":
        return transformers.GPT2Config(n_layer=3, n_head=4, n_embd=64, n_positions=64, vocab_size=96)
    if family == "bloom":
        return transformers.BloomConfig(n_layer=3, n_head=6, hidden_size=96, vocab_size=96)
    rope = {
        "rope_type": "llama3",
        "factor": 4.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 32,
    }
    return transformers.LlamaConfig(
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        hidden_size=64,
        intermediate_size=160,
        max_position_embeddings=64,
        vocab_size=96,
        rms_norm_eps=1e-5,
        rope_scaling=rope,
    )


@torch.no_grad()
def save(family, folder):
    torch.manual_seed(5)
    model = transformers.AutoModelForCausalLM.from_config(config_of(family))
    for parameter in model.parameters():  # so that norms and biases are not all equal
        parameter.add_(torch.randn_like(parameter), alpha=0.05)
    if family == "gpt2":
        model.transformer.save_pretrained(folder)
        assert (folder / "model.safetensors").exists()
        return
    half = model.to(torch.bfloat16) if family == "llama" else model.to(torch.float16).transformer
    half.save_pretrained(folder, max_shard_size="100KB")
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    assert len(set(index["weight_map"].values())) > 1


@torch.no_grad()
def compare(folder, dump):
    verdicts = comparison.Verdicts()
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    initial = reference.read_safetensors(dump / "initial.safetensors")
    theirs = {name: parameter.detach() for name, parameter in model.named_parameters()}
    verdicts.equal_tensors("weights at the start", initial, theirs, 0.0)
    data = reference.read_safetensors(dump / "tokens.safetensors")
    logits = model(data["tokens"][0].long()).logits
    loss = F.cross_entropy(logits.view(-1, logits.size(-1)), data["labels"][0].long().view(-1)).item()
    ours = json.loads((dump / "run.json").read_text())["losses"]
    verdicts.equal_curves("loss of step 1", ours[:1], [loss], LIMIT)
    return verdicts.failed


if __name__ == "__main__":
    if sys.argv[1] == "save":
        sys.exit(save(sys.argv[2], pathlib.Path(sys.argv[3])))
    sys.exit(compare(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])))
