"""The linear layers of muster's precision fp8 in PyTorch: torch._scaled_mm with a scale for each matrix, E4M3 for inputs
and weights, E5M2 for gradients of outputs, as torchao's recipe tensorwise has it. What is not a linear layer of a block is
left to autocast.
"""
import functools

import torch

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2


def convert(matrix, kind):
    """(FP8 numbers, the factor that gives the matrix back)."""
    most = torch.finfo(kind).max
    wide = matrix.float()
    scale = most / wide.abs().amax().clamp(min=1e-30)
    return (wide * scale).clamp(-most, most).to(kind), scale.reciprocal()


def product(a, b, result, bias=None, fast=False):
    """a [m, inner] times the transpose of b [n, inner], each with its factor."""
    (x, of_x), (y, of_y) = a, b
    return torch._scaled_mm(x.contiguous(), y.contiguous().t(), of_x, of_y, bias=bias, out_dtype=result, use_fast_accum=fast)


def turned(matrix):
    return matrix[0].t(), matrix[1]


class Function(torch.autograd.Function):
    """x [rows, in] times the transpose of weight [out, in], plus bias."""

    @staticmethod
    def forward(context, x, weight, bias):
        x, fp8_weight = convert(x, E4M3), convert(weight, E4M3)
        context.save_for_backward(*x, *fp8_weight)
        context.has_bias = bias is not None
        return product(x, fp8_weight, torch.bfloat16, bias if bias is None else bias.bfloat16(), fast=True)

    @staticmethod
    def backward(context, gradient):
        x, factor, weight, weight_factor = context.saved_tensors
        g = convert(gradient, E5M2)
        of_x = product(g, turned((weight, weight_factor)), torch.bfloat16)
        of_weight = product(turned(g), turned((x, factor)), torch.float32)
        return of_x, of_weight, gradient.sum(0).float() if context.has_bias else None


def linear(module, x, in_out):
    weight = module.weight.t() if in_out else module.weight
    y = Function.apply(x.reshape(-1, x.size(-1)).bfloat16(), weight, module.bias)
    return y.view(*x.shape[:-1], -1)


def replace(model, kinds):
    """Makes the linear layers, but for the head, FP8 under autocast. `kinds` are their classes, and whether a weight is
    [in, out]."""
    for name, module in model.named_modules():
        for kind, in_out in kinds.items():
            if isinstance(module, kind) and not name.endswith("lm_head"):
                module.forward = functools.partial(forward, module, module.forward, in_out)


def forward(module, plain, in_out, x):
    return linear(module, x, in_out) if torch.is_autocast_enabled(x.device.type) else plain(x)
