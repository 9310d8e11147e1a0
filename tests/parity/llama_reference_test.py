"""Tests that the LLaMA of the benchmarks computes transformers' logits and gradients from the same weights."""
import unittest

import torch

import comparison
import llama_reference
import transformers_model

SHAPE = dict(layers=2, heads=4, width=64, positions=48, vocabulary=96, keyValueHeads=2, feedForwardWidth=160, ropeTheta=500000.0)
CONFIG = dict(model_type="llama", num_hidden_layers=2, num_attention_heads=4, hidden_size=64, max_position_embeddings=48, vocab_size=96,
              num_key_value_heads=2, intermediate_size=160, rope_theta=500000.0, rms_norm_eps=1e-5, tie_word_embeddings=False)


class LlamaReferenceTest(unittest.TestCase):
    def test_logits_and_gradients_are_those_of_transformers(self):
        torch.manual_seed(5)
        ours, theirs = llama_reference.Llama(**SHAPE), transformers_model.LanguageModel(CONFIG)
        theirs.load_state_dict(ours.state_dict())
        tokens, labels = torch.randint(96, (2, 3, 40))
        self.assertLess(comparison.relative(ours.logits(tokens), theirs.logits(tokens)), 1e-5)
        for model in (ours, theirs):
            model(tokens, labels).backward()
        gradients = [{name: p.grad for name, p in model.named_parameters()} for model in (ours, theirs)]
        self.assertEqual(gradients[0].keys(), gradients[1].keys())
        for name, gradient in gradients[0].items():
            self.assertLess(comparison.relative(gradient, gradients[1][name]), 1e-4, name)


if __name__ == "__main__":
    unittest.main()
