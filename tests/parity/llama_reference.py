"""LLaMA in plain PyTorch, the peer of the benchmarks, written as its users write it: SDPA with grouped queries, RMSNorm,
rotary positions that turn halves of a head, SwiGLU, and a head of its own. Parameter names are Hugging Face's.
"""
import torch
import torch.nn.functional as F


class RmsNorm(torch.nn.Module):
    def __init__(self, width, epsilon):
        super().__init__()
        self.weight, self.epsilon = torch.nn.Parameter(torch.ones(width)), epsilon

    def forward(self, x):
        return F.rms_norm(x, self.weight.shape, self.weight, self.epsilon)


def linear(inputs, outputs):
    layer = torch.nn.Linear(inputs, outputs, bias=False)
    torch.nn.init.normal_(layer.weight, std=0.02)
    return layer


def rotary_angles(positions, width, theta):
    """(cosine, sine), each [positions, head width], whose halves are equal."""
    frequencies = theta ** (-torch.arange(0, width, 2, dtype=torch.float32) / width)
    angles = torch.arange(positions, dtype=torch.float32)[:, None] * frequencies
    return torch.cat((angles.cos(), angles.cos()), -1), torch.cat((angles.sin(), angles.sin()), -1)


def turn(x, cosine, sine):
    low, high = x.chunk(2, -1)
    return x * cosine + torch.cat((-high, low), -1) * sine


class Attention(torch.nn.Module):
    def __init__(self, width, heads, key_value_heads):
        super().__init__()
        self.head_width = width // heads
        self.q_proj, self.o_proj = linear(width, width), linear(width, width)
        self.k_proj, self.v_proj = (linear(width, key_value_heads * self.head_width) for _ in range(2))

    def forward(self, x, cosine, sine):
        batch, length, _ = x.shape
        q, k, v = (p(x).view(batch, length, -1, self.head_width).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        q, k = turn(q, cosine, sine), turn(k, cosine, sine)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.o_proj(y.transpose(1, 2).reshape(batch, length, -1))


class Mlp(torch.nn.Module):
    def __init__(self, width, feed_forward_width):
        super().__init__()
        self.gate_proj, self.up_proj = linear(width, feed_forward_width), linear(width, feed_forward_width)
        self.down_proj = linear(feed_forward_width, width)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(torch.nn.Module):
    def __init__(self, width, heads, key_value_heads, feed_forward_width, epsilon):
        super().__init__()
        self.input_layernorm, self.post_attention_layernorm = RmsNorm(width, epsilon), RmsNorm(width, epsilon)
        self.self_attn, self.mlp = Attention(width, heads, key_value_heads), Mlp(width, feed_forward_width)

    def forward(self, x, cosine, sine):
        x = x + self.self_attn(self.input_layernorm(x), cosine, sine)
        return x + self.mlp(self.post_attention_layernorm(x))


class Llama(torch.nn.Module):
    def __init__(self, layers, heads, width, positions, vocabulary, keyValueHeads, feedForwardWidth, ropeTheta, epsilon=1e-5):
        super().__init__()
        layer = lambda: Layer(width, heads, keyValueHeads, feedForwardWidth, epsilon)
        self.model = torch.nn.ModuleDict(
            {
                "embed_tokens": torch.nn.Embedding(vocabulary, width),
                "layers": torch.nn.ModuleList(layer() for _ in range(layers)),
                "norm": RmsNorm(width, epsilon),
            }
        )
        torch.nn.init.normal_(self.model["embed_tokens"].weight, std=0.02)
        self.lm_head = linear(width, vocabulary)
        cosine, sine = rotary_angles(positions, width // heads, ropeTheta)
        self.register_buffer("cosine", cosine, persistent=False)
        self.register_buffer("sine", sine, persistent=False)

    def logits(self, tokens):
        x, length = self.model["embed_tokens"](tokens), tokens.size(1)
        for layer in self.model["layers"]:
            x = layer(x, self.cosine[:length], self.sine[:length])
        return self.lm_head(self.model["norm"](x))

    def forward(self, tokens, labels):
        logits = self.logits(tokens)
        # Not in bfloat16, which autocast would use for the product.
        wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
        return F.cross_entropy(wide.view(-1, wide.size(-1)), labels.view(-1))
