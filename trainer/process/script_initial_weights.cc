#include "trainer/process/script_initial_weights.h"

#include "base/status_macros.h"

namespace muster::trainer {

absl::Status ScriptInitialWeights::Open() {
  MUSTER_ASSIGN_OR_RETURN(weights_, ScriptWeights::Open(files_, path_, type_));
  return absl::OkStatus();
}

absl::Status ScriptInitialWeights::Fill(const std::string& name, const std::vector<int64_t>& shape,
                                        int64_t begin, at::Tensor elements) {
  if (weights_ == nullptr) return absl::FailedPreconditionError(path_ + ": is not open");
  return weights_->Take(name, shape, begin, std::move(elements));
}

}  // namespace muster::trainer
