"""GPT-2 and its training step in plain PyTorch: the numerical reference, and the peer of the benchmarks.

Written as its users write it: SDPA attention, tanh GELU, tied head, fused AdamW, set_to_none. Parameter
names and layouts ([in, out] linear weights) are Hugging Face's.
"""
import json
import math
import pathlib

import numpy
import torch
import torch.nn.functional as F

DTYPES = {"F64": numpy.float64, "F32": numpy.float32, "I64": numpy.int64, "U16": numpy.uint16, "U32": numpy.uint32}


def read_safetensors(path):
    raw = pathlib.Path(path).read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    out = {}
    for name, info in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + offset for offset in info["data_offsets"])
        array = numpy.frombuffer(raw[begin:end], DTYPES[info["dtype"]]).reshape(info["shape"])
        out[name] = torch.from_numpy(array.copy())
    return out


class Linear(torch.nn.Module):
    """x @ weight + bias with weight [in, out], as in the released GPT-2."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(inputs, outputs) * 0.02)
        self.bias = torch.nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight).view(*x.shape[:-1], -1)


class Attention(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.c_attn = Linear(width, 3 * width)
        self.c_proj = Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.c_attn(x).split(width, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(batch, length, width))


class Mlp(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.c_fc = Linear(width, 4 * width)
        self.c_proj = Linear(4 * width, width)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class Layer(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1, self.attn = torch.nn.LayerNorm(width), Attention(width, heads)
        self.ln_2, self.mlp = torch.nn.LayerNorm(width), Mlp(width)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt2(torch.nn.Module):
    def __init__(self, layers, heads, width, positions, vocabulary):
        super().__init__()
        self.transformer = torch.nn.ModuleDict(
            {
                "wte": torch.nn.Embedding(vocabulary, width),
                "wpe": torch.nn.Embedding(positions, width),
                "h": torch.nn.ModuleList(Layer(width, heads) for _ in range(layers)),
                "ln_f": torch.nn.LayerNorm(width),
            }
        )
        for embedding in (self.transformer["wte"], self.transformer["wpe"]):
            torch.nn.init.normal_(embedding.weight, std=0.02)

    def logits(self, tokens):
        t = self.transformer
        x = t["wte"](tokens) + t["wpe"](torch.arange(tokens.size(1), device=tokens.device))
        for layer in t["h"]:
            x = layer(x)
        return t["ln_f"](x) @ t["wte"].weight.T

    def forward(self, tokens, labels):
        logits = self.logits(tokens)
        # Not in bfloat16, which autocast would use for the product.
        wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
        return F.cross_entropy(wide.view(-1, wide.size(-1)), labels.view(-1))


def parameter_groups(model, weight_decay):
    """Weight decay on matrices only, as nanoGPT and GPT-2 recipes do."""
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    rest = [p for p in model.parameters() if p.dim() < 2]
    return [{"params": matrices, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]


def learning_rate(step, peak, warmup, steps, final_fraction, schedule, decay_steps=0):
    """The learning rate of update `step`, counted from 1."""
    if step <= warmup:
        return peak * step / warmup
    if schedule == "constant":
        return peak
    if schedule == "inverseSqrt":
        return peak * math.sqrt(max(1, warmup) / step)
    begin = max(warmup, steps - decay_steps) if schedule == "wsd" else warmup
    progress = min(1, max(0, (step - begin) / max(1, steps - begin)))
    if schedule in ("linear", "wsd"):
        return peak * (1 - (1 - final_fraction) * progress)
    return peak * (final_fraction + (1 - final_fraction) * 0.5 * (1 + math.cos(math.pi * progress)))
