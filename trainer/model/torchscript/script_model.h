#ifndef MUSTER_TRAINER_MODEL_TORCHSCRIPT_SCRIPT_MODEL_H_
#define MUSTER_TRAINER_MODEL_TORCHSCRIPT_SCRIPT_MODEL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/files/files.h"
#include "c10/core/ScalarType.h"
#include "trainer/model/block.h"

namespace muster::trainer {

// Reads a user's model from a file that torch.jit.save wrote. A module without a forward of its own
// that has a list `blocks` is a list of blocks; any other module is one block, "model". The
// parameters have the names that PyTorch gives them, and become `type`: FP64 ones are made of FP32
// ones, nothing else is converted. The blocks hold no values of them before Bind(). The file is
// trusted like code. InvalidArgument, which names trainer.model.torchScript and the file, for a
// model of another structure (see docs/training.md); else the file system's error.
absl::StatusOr<Model> LoadScriptModel(Files& files, const std::string& path, c10::ScalarType type);

// The values of a file's parameters, which a run begins with. Not thread-safe.
class ScriptWeights {
 public:
  // Reads the file with all its tensors. Errors are as of LoadScriptModel, without the field.
  static absl::StatusOr<std::unique_ptr<ScriptWeights>> Open(Files& files, const std::string& path,
                                                             c10::ScalarType type);

  // Fills `elements`, which is flat and contiguous, with the elements from `begin` on of the
  // parameter `name`, and frees the file's copy of it: there is no second time.
  // FailedPrecondition if there is no such parameter of this shape.
  absl::Status Take(const std::string& name, const std::vector<int64_t>& shape, int64_t begin,
                    at::Tensor elements);

 private:
  ScriptWeights(std::string path, std::map<std::string, at::Tensor> values)
      : path_(std::move(path)), values_(std::move(values)) {}

  const std::string path_;
  std::map<std::string, at::Tensor> values_;  // by name
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_TORCHSCRIPT_SCRIPT_MODEL_H_
