"""usage: torchscript_example.py DIR

Loads exported weights, DIR/exported/model.safetensors, into the model that they were trained in, DIR/model.pt, and
compares the losses before and after on DIR/text.txt.
"""
import pathlib
import sys

import torch

import comparison
import gpt2_reference
import script_model


def loss_of(model, text):
    rows = torch.tensor(list(text[: 64 * 20 + 1]))
    return model(rows[:-1].view(20, 64), rows[1:].view(20, 64)).item()


@torch.no_grad()
def main():
    folder = pathlib.Path(sys.argv[1])
    verdicts = comparison.Verdicts()
    text = (folder / "text.txt").read_bytes()
    model = script_model.ScriptModel(str(folder / "model.pt"), "fp32")
    model.script.eval()
    first = loss_of(model, text)
    model.load_state_dict(gpt2_reference.read_safetensors(folder / "exported/model.safetensors"), strict=True)
    last = loss_of(model, text)
    verdicts.within(f"the loss falls from {first:.4f} to {last:.4f}: 30 % less the fall", 0.3 - (1 - last / first), 0.0)
    sys.exit(1 if verdicts.failed else 0)


if __name__ == "__main__":
    main()
