#ifndef MUSTER_TRAINER_PROCESS_PRETRAINED_INITIAL_WEIGHTS_H_
#define MUSTER_TRAINER_PROCESS_PRETRAINED_INITIAL_WEIGHTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "base/files/files.h"
#include "trainer/checkpoint/pretrained.h"
#include "trainer/engine/state/initial_weights.h"
#include "trainer/model/block.h"

namespace muster::trainer {

// The weights of a directory as Hugging Face keeps them (trainer/checkpoint/pretrained.h).
class PretrainedInitialWeights final : public InitialWeights {
 public:
  // `vocabulary` says where the model's vocabulary comes from. `files` must outlive this.
  PretrainedInitialWeights(Files& files, std::string path, const Model& model,
                           std::string vocabulary);

  const char* field() const override { return "trainer.model.uri"; }
  // Fails if the directory cannot be read, or does not hold the weights of the model: the message
  // names what differs.
  absl::Status Open() override;
  absl::Status Fill(const std::string& name, const std::vector<int64_t>& shape, int64_t begin,
                    at::Tensor elements) override;

 private:
  Files& files_;
  const std::string path_;
  const std::string config_;  // the model's config.json
  const std::vector<WantedTensor> tensors_;
  const std::string tied_;  // the embedding that the head shares; empty if it does not
  const std::string vocabulary_;
  std::unique_ptr<PretrainedWeights> weights_;  // null until Open()
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_PROCESS_PRETRAINED_INITIAL_WEIGHTS_H_
