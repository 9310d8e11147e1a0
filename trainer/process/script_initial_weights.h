#ifndef MUSTER_TRAINER_PROCESS_SCRIPT_INITIAL_WEIGHTS_H_
#define MUSTER_TRAINER_PROCESS_SCRIPT_INITIAL_WEIGHTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "base/files/files.h"
#include "trainer/engine/state/initial_weights.h"
#include "trainer/model/torchscript/script_model.h"

namespace muster::trainer {

// The weights of a TorchScript file: a run begins with those that it was saved with. The file is in
// memory as a whole from Open() to Close(), less the parameters that were filled.
class ScriptInitialWeights final : public InitialWeights {
 public:
  // The parameters have `type`. `files` must outlive this.
  ScriptInitialWeights(Files& files, std::string path, c10::ScalarType type)
      : files_(files), path_(std::move(path)), type_(type) {}

  const char* field() const override { return "trainer.model.torchScript"; }
  absl::Status Open() override;
  absl::Status Fill(const std::string& name, const std::vector<int64_t>& shape, int64_t begin,
                    at::Tensor elements) override;
  void Close() override { weights_.reset(); }

 private:
  Files& files_;
  const std::string path_;
  const c10::ScalarType type_;
  std::unique_ptr<ScriptWeights> weights_;  // null unless open
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_PROCESS_SCRIPT_INITIAL_WEIGHTS_H_
