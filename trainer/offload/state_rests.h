#ifndef MUSTER_TRAINER_OFFLOAD_STATE_RESTS_H_
#define MUSTER_TRAINER_OFFLOAD_STATE_RESTS_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/offload/state_file.h"
#include "trainer/offload/state_rest.h"

namespace muster::trainer {

// The parts of a rank's state that rest in files.
struct OffloadOptions {
  bool optimizer = false;
  bool weights = false;
  std::string directory;  // empty if nothing rests in files

  bool operator==(const OffloadOptions&) const = default;
};

// Where the state of the units that a rank holds rests: both parts of it together. Neither is null.
struct StateRests {
  std::unique_ptr<StateRest> weights = std::make_unique<RestInPlace>();
  std::unique_ptr<StateRest> optimizer = std::make_unique<RestInPlace>();

  // Makes places in memory or, as the options say, in `files`. The tensors that rest there lose
  // their memory, and are zeros. Fails as StateFiles::Create does, and if `files` is null and
  // needed.
  static absl::StatusOr<StateRests> Create(const OffloadOptions& options, StateFiles* files,
                                           const TensorsByUnit& weights,
                                           const TensorsByUnit& optimizer);

  absl::Status Bring(int unit) const;
  void MakeRoom(int unit) const;
  absl::Status Keep(int unit) const;
  void Drop(int unit) const;
  void Swap() const;
  void Discard() const;
  int refusals() const { return weights->refusals() + optimizer->refusals(); }
  void ForgetRefusals() const {
    weights->ForgetRefusals();
    optimizer->ForgetRefusals();
  }
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_OFFLOAD_STATE_RESTS_H_
