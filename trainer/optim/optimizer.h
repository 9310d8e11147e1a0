#ifndef MUSTER_TRAINER_OPTIM_OPTIMIZER_H_
#define MUSTER_TRAINER_OPTIM_OPTIMIZER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/comm/communicator.h"
#include "trainer/model/partition.h"

namespace muster::trainer {

// How the update of some elements differs from that of others.
struct UpdateSettings {
  bool decay = false;  // by the spec's weight decay, unless weight_decay is set
  std::optional<double> weight_decay;
  double rate_factor = 1.0;  // multiplies the learning rate
  bool operator==(const UpdateSettings&) const = default;
};

// The parameters whose names match an expression (RE2 syntax, anywhere in the name), and how their
// updates differ.
struct ParameterGroup {
  std::string match;
  std::optional<double> rate_factor;
  std::optional<double> weight_decay;
  bool operator==(const ParameterGroup&) const = default;
};

// A parameter in a unit. `shape` is that of the whole tensor. This rank's part of the model
// (trainer/model/partition.h) has `size` elements of it, which begin at `offset` in the unit, a
// multiple of kTensorAlignment. Zeros follow up to the next such multiple.
struct OptimizerTensor {
  std::string name;
  std::vector<int64_t> shape;
  Partition partition;
  ModelPart part;  // the only part, if each rank of the tensor axis holds the whole tensor
  int64_t offset = 0;
  int64_t size = 0;
  UpdateSettings settings;
  // The first or the last block of the model uses it: an embedding or the head.
  bool is_of_ends = false;
};

// An optimizer's view of a unit, or of the slice of it that this rank holds: flat values and
// gradients. A slice consists of whole chunks (kChunkElements), and so may begin and end within a
// tensor. If `tensors` is empty, weight decay applies to the first `decay_elements`.
struct OptimizerUnit {
  at::Tensor values;  // may have no memory when the optimizer is made
  at::Tensor gradients;
  int64_t decay_elements = 0;
  // The state tensors are made without memory: they get it, with their contents, for each Apply.
  bool state_rests = false;
  std::vector<OptimizerTensor> tensors;  // all of the unit's, by ascending offset
  int64_t begin = 0;                     // where the slice begins in the unit
  int64_t elements = 0;                  // in the whole unit
};

class Optimizer;
struct OptimizerOptions;

// Makes an optimizer of some units, or of slices of them, with zero state (optimizer_runs.h).
using OptimizerFactory = std::unique_ptr<Optimizer> (*)(const OptimizerOptions& options,
                                                        std::vector<OptimizerUnit> units);

// The numbers that a spec gives; each optimizer uses those that it knows.
struct OptimizerOptions {
  OptimizerFactory make = nullptr;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;
  double momentum = 0.0;
  // A parameter belongs to the first group that finds it.
  std::vector<ParameterGroup> groups;

  bool operator==(const OptimizerOptions&) const = default;
};

// The update that the ranks voted for.
struct UpdateOptions {
  // Counts the applied updates from 1, including this one; skipped steps do not count.
  int64_t update = 0;
  double learning_rate = 0.0;
  double gradient_factor = 1.0;  // clipping and the mean over tokens
};

// Gives Prepare the groups of ranks that hold the tensors together, and the memory of the units. A
// null group stands for this rank alone.
struct OptimizerContext {
  Communicator* world = nullptr;
  // The ranks that divide every unit into slices, in the order of SliceOf() (trainer/parallel).
  Communicator* shard = nullptr;
  // The ranks that divide tensors into parts, in the order of ModelPart.
  Communicator* tensor = nullptr;
  // By unit, the ranks that hold the same slice of it; null if this rank has nothing of the unit.
  // All ranks of a group share it for the same units.
  std::vector<Communicator*> replicas;
  // Gives memory to a unit's values and state, with their contents, until Drop. Null if they always
  // have memory.
  std::function<absl::Status(int unit)> bring;
  std::function<void(int unit)> drop;

  absl::Status Bring(int unit) const { return bring ? bring(unit) : absl::OkStatus(); }
  void Drop(int unit) const {
    if (drop) drop(unit);
  }
};

// Writes a step into the values, in place. Prepare may communicate and writes scratch memory only;
// Apply is local and cannot fail, so that every live rank carries out a decision that was voted.
// Not thread-safe.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Takes effect with the next Apply. The factory, and whether there is momentum, must be the same
  // as before, because the state tensors stay as they are.
  virtual void Configure(const OptimizerOptions& options) = 0;

  // Returns true if Prepare does anything; the ranks then confirm its result after the vote.
  virtual bool has_prepare() const { return false; }
  // Called by all ranks between vote and Apply, with the gradients as they were reduced, without
  // the factor. It reads a unit's values and state only between Bring and Drop. The scratch memory
  // that it writes stays until the next call. Returns false if this rank's part of the update is
  // not finite.
  virtual absl::StatusOr<bool> Prepare(const UpdateOptions&, const OptimizerContext&) {
    return true;
  }
  // Writes the step into one unit, whose values and state have memory until this returns; a step
  // calls it once for each. It gets the gradients as they were reduced, multiplies them by the
  // factor of `options`, and may leave anything in their memory.
  virtual void Apply(int unit, const UpdateOptions& options) = 0;

  // Returns the flat state tensors of one unit, in the order of state_names(); they live as long as
  // the optimizer. Each has a storage of its own.
  virtual const std::vector<std::string>& state_names() const = 0;
  virtual std::vector<at::Tensor> state(int unit) const = 0;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_OPTIM_OPTIMIZER_H_
