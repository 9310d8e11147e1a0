#include "trainer/offload/state_rests.h"

#include "base/status_macros.h"
#include "trainer/offload/rest_in_file.h"

namespace muster::trainer {
namespace {

absl::StatusOr<std::unique_ptr<StateRest>> MakeRest(bool in_file, const std::string& directory,
                                                    StateFiles* files,
                                                    const TensorsByUnit& tensors) {
  if (!in_file) return std::make_unique<RestInPlace>();
  if (files == nullptr) {
    return absl::FailedPreconditionError("this process cannot keep its state in files");
  }
  return RestInFile::Create(*files, directory, tensors);
}

}  // namespace

absl::StatusOr<StateRests> StateRests::Create(const OffloadOptions& options, StateFiles* files,
                                              const TensorsByUnit& weights,
                                              const TensorsByUnit& optimizer) {
  StateRests rests;
  MUSTER_ASSIGN_OR_RETURN(rests.weights,
                          MakeRest(options.weights, options.directory, files, weights));
  MUSTER_ASSIGN_OR_RETURN(rests.optimizer,
                          MakeRest(options.optimizer, options.directory, files, optimizer));
  return rests;
}

absl::Status StateRests::Bring(int unit) const {
  MUSTER_RETURN_IF_ERROR(weights->Bring(unit));
  return optimizer->Bring(unit);
}

void StateRests::MakeRoom(int unit) const {
  weights->MakeRoom(unit);
  optimizer->MakeRoom(unit);
}

absl::Status StateRests::Keep(int unit) const {
  MUSTER_RETURN_IF_ERROR(weights->Keep(unit));
  return optimizer->Keep(unit);
}

void StateRests::Drop(int unit) const {
  weights->Drop(unit);
  optimizer->Drop(unit);
}

void StateRests::Swap() const {
  weights->Swap();
  optimizer->Swap();
}

void StateRests::Discard() const {
  weights->Discard();
  optimizer->Discard();
}

}  // namespace muster::trainer
