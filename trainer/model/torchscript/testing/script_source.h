#ifndef MUSTER_TRAINER_MODEL_TORCHSCRIPT_TESTING_SCRIPT_SOURCE_H_
#define MUSTER_TRAINER_MODEL_TORCHSCRIPT_TESTING_SCRIPT_SOURCE_H_

#include <string>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "torch/csrc/jit/api/module.h"

namespace muster::trainer {

// TorchScript files for tests, made of source text, as torch.jit.save would write them.

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// Returns normal numbers, the same for the same seed, that require a gradient.
at::Tensor RandomParameter(std::vector<int64_t> shape, uint64_t seed);

// Makes a module with these attributes and the methods of `code`, which may be empty.
torch::jit::Module MakeScript(const std::string& code, const NamedTensors& parameters,
                              const NamedTensors& buffers = {});

// Makes a module without code that has a list `blocks`.
torch::jit::Module MakeScriptList(const std::vector<torch::jit::Module>& blocks);

// Returns the bytes of the module's file.
std::string SaveScript(const torch::jit::Module& module);

// Returns the file of a language model of three blocks: an embedding, a layer with dropout, and a
// head that is tied to the embedding. Vocabulary 61, 16 positions.
std::string TinyScript(double dropout);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_TORCHSCRIPT_TESTING_SCRIPT_SOURCE_H_
