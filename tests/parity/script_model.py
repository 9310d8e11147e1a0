"""A file of TorchScript in PyTorch, with the interface of gpt2_reference.Gpt2: a list of blocks, chained by hand."""
import torch


class ScriptModel(torch.nn.Module):
    def __init__(self, path, precision):
        super().__init__()
        self.script = torch.jit.load(path)
        if precision == "fp64":
            self.script.double()

    def named_parameters(self, *arguments, **options):
        """Without the name of this class's member; tied ones once."""
        return self.script.named_parameters(*arguments, **options)

    def state_dict(self):
        return {name: parameter.detach() for name, parameter in self.named_parameters()}

    @torch.no_grad()
    def load_state_dict(self, values, strict):
        mine = dict(self.named_parameters())
        if strict and mine.keys() != values.keys():
            raise ValueError(f"not on both sides: {sorted(mine.keys() ^ values.keys())}")
        for name, parameter in mine.items():
            parameter.copy_(values[name])

    def forward(self, tokens, labels):
        batch = {"tokens": tokens, "labels": labels, "positions": torch.arange(tokens.size(1))}
        passed = ()
        for block in self.script.blocks.children():
            names = [argument.name for argument in block.forward.schema.arguments[1:]]
            arriving = iter(passed)
            passed = block(*(batch[name] if name in batch else next(arriving) for name in names))
            passed = passed if isinstance(passed, tuple) else (passed,)
        return passed[0] / (labels != -100).sum()
