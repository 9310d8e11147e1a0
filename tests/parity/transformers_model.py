"""Models of Hugging Face's transformers, made from the config.json that muster's trainer writes.

transformers computes norms, softmax, rotary angles and slopes in float32 even where a model is float64. That alone
differs from muster by 1e-7, so widened() makes these parts double, for comparisons that look for less.
"""
import contextlib
from unittest import mock

import torch
import torch.nn.functional as F
import transformers
from transformers import modeling_rope_utils
from transformers.models.bloom import modeling_bloom
from transformers.models.llama import modeling_llama


class DoubleTorch:
    """The module torch with float64 in place of float32."""

    float32 = float = torch.float64

    def __getattr__(self, name):
        return getattr(torch, name)


@contextlib.contextmanager
def widened():
    """Models that are made and trained in this context compute in float64; others in the same process do not."""
    with contextlib.ExitStack() as changes:
        for module in (modeling_rope_utils, modeling_bloom, modeling_llama):
            changes.enter_context(mock.patch.object(module, "torch", DoubleTorch()))
        changes.enter_context(mock.patch.object(torch.Tensor, "float", torch.Tensor.double))
        # The original has sqrt(2 / pi) with eight digits.
        gelu = lambda self, x: F.gelu(x, approximate="tanh")
        changes.enter_context(mock.patch.object(modeling_bloom.BloomGelu, "forward", gelu))
        yield


class LanguageModel(torch.nn.Module):
    """A model with the interface of gpt2_reference.Gpt2, and transformers' names of parameters."""

    def __init__(self, config):
        super().__init__()
        fields = {name: value for name, value in config.items() if name not in ("architectures", "model_type")}
        self.config = transformers.AutoConfig.for_model(config["model_type"], **fields)
        self.peer = transformers.AutoModelForCausalLM.from_config(self.config, attn_implementation="eager")

    def named_parameters(self, *arguments, **options):
        return self.peer.named_parameters()

    def state_dict(self):
        return {name: parameter.detach() for name, parameter in self.peer.named_parameters()}

    def load_state_dict(self, tensors, strict=True):
        own = dict(self.peer.named_parameters())
        if own.keys() != tensors.keys():
            raise KeyError(f"not on both sides: {sorted(own.keys() ^ tensors.keys())}")
        with torch.no_grad():
            for name, parameter in own.items():
                parameter.copy_(tensors[name])

    def logits(self, tokens):
        return self.peer(tokens, use_cache=False).logits

    def forward(self, tokens, labels):
        logits = self.logits(tokens)
        wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
        return F.cross_entropy(wide.view(-1, wide.size(-1)), labels.view(-1))
