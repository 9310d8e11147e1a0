#include "tests/parity/run_files.h"

#include <cstddef>

#include "ATen/core/Tensor.h"
#include "base/files/files.h"
#include "trainer/checkpoint/safetensors.h"

namespace muster::trainer {

absl::Status WriteTensors(const std::string& path, const std::vector<NamedTensor>& tensors) {
  std::vector<at::Tensor> whole;  // kept alive until the file is written
  std::vector<TensorView> views;
  for (const NamedTensor& named : tensors) {
    whole.push_back(named.tensor.contiguous().cpu());
    const at::Tensor& t = whole.back();
    const DataType type = t.scalar_type() == at::kDouble  ? DataType::kF64
                          : t.scalar_type() == at::kFloat ? DataType::kF32
                                                          : DataType::kI64;
    views.push_back({named.name,
                     type,
                     t.sizes().vec(),
                     {static_cast<const std::byte*>(t.const_data_ptr()), t.nbytes()}});
  }
  return WriteSafetensors(FileSystem(), path, views, {}).status();
}

Json OptimizerJson(const std::string& name, const TrainingOptions& o) {
  return {{"name", name},
          {"learningRate", o.schedule.peak},
          {"schedule", "cosine"},
          {"warmupSteps", o.schedule.warmup_steps},
          {"finalFraction", o.schedule.final_fraction},
          {"beta1", o.optimizer.beta1},
          {"beta2", o.optimizer.beta2},
          {"epsilon", o.optimizer.epsilon},
          {"weightDecay", o.optimizer.weight_decay},
          {"momentum", o.optimizer.momentum},
          {"clipNorm", o.clip_norm}};
}

}  // namespace muster::trainer
