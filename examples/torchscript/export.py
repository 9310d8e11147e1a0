"""Writes a small language model of one's own as TorchScript, for examples/torchscript.yaml: nothing here knows muster.

The model is a list of blocks without a forward of its own. The arguments tokens, labels and positions are the
micro-batch's; the others are what the block before returned. The last block returns the loss, summed over the labels
that are not -100.

    python3 examples/torchscript/export.py .muster/models/gpt.pt
"""
import argparse
import pathlib

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Embedding(nn.Module):
    def __init__(self, vocabulary: int, positions: int, width: int):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(positions, width)

    def forward(self, tokens: Tensor, positions: Tensor) -> Tensor:
        return self.tokens(tokens) + self.positions(positions)


class Layer(nn.Module):
    """Attention and a feed-forward part, side by side."""

    def __init__(self, width: int, heads: int, dropout: float):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def attention(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind()
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(x)
        return x + self.dropout(self.attention(y) + self.down(F.gelu(self.up(y))))


class Head(nn.Module):
    """The norm, the output layer, whose weights are the embedding's, and the loss."""

    def __init__(self, embedding: Embedding, width: int):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.weight = embedding.tokens.weight

    def forward(self, x: Tensor, labels: Tensor) -> Tensor:
        logits = F.linear(self.norm(x), self.weight)
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100, reduction="sum")


class Model(nn.Module):
    def __init__(self, options):
        super().__init__()
        embedding = Embedding(options.vocabulary, options.positions, options.width)
        layers = [Layer(options.width, options.heads, options.dropout) for _ in range(options.layers)]
        self.blocks = nn.ModuleList([embedding, *layers, Head(embedding, options.width)])
        for parameter in self.parameters():
            if parameter.dim() >= 2:
                nn.init.normal_(parameter, std=0.02)


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("file", type=pathlib.Path)
    flags.add_argument("--vocabulary", type=int, default=256)
    flags.add_argument("--positions", type=int, default=128)
    flags.add_argument("--layers", type=int, default=4)
    flags.add_argument("--heads", type=int, default=4)
    flags.add_argument("--width", type=int, default=128)
    flags.add_argument("--dropout", type=float, default=0.0)
    options = flags.parse_args()
    torch.manual_seed(1)
    options.file.parent.mkdir(parents=True, exist_ok=True)
    torch.jit.script(Model(options)).save(options.file)


if __name__ == "__main__":
    main()
