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
  double rate_factor = 1.0;  // of the learning rate
  bool operator==(const UpdateSettings&) const = default;
};

// Parameters whose names an expression finds (RE2 syntax, anywhere in the name), and what is
// different about their updates.
struct ParameterGroup {
  std::string match;
  std::optional<double> rate_factor;
  std::optional<double> weight_decay;
  bool operator==(const ParameterGroup&) const = default;
};

// A parameter in a unit. Of the whole tensor, whose shape is `shape`, this rank's part of the model
// has `size` elements (trainer/model/partition.h), which begin at `offset` of the unit, a multiple
// of kTensorAlignment. Zeros follow up to the next such multiple.
struct OptimizerTensor {
  std::string name;
  std::vector<int64_t> shape;
  Partition partition;
  ModelPart part;  // of one part if the ranks of the tensor axis hold the tensor whole
  int64_t offset = 0;
  int64_t size = 0;
  UpdateSettings settings;
  // The first or the last block of the model uses it: an embedding or the head.
  bool is_of_ends = false;
};

// An optimizer's view of a unit, or of the slice of it that this rank holds: flat values and
// gradients. A slice consists of whole chunks (kChunkElements), and so may begin and end within a
// tensor. Without tensors, weight decay applies to the first `decay_elements`.
struct OptimizerUnit {
  at::Tensor values;  // may have no memory when the optimizer is made
  at::Tensor gradients;
  int64_t decay_elements = 0;
  // The state tensors are made without memory: they get it, with their contents, for each Apply.
  bool state_rests = false;
  std::vector<OptimizerTensor> tensors;  // of the whole unit, ascending
  int64_t begin = 0;                     // of the slice in the unit
  int64_t elements = 0;                  // of the unit
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
  // A parameter is of the first group that finds it.
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

// The ranks that hold the tensors together, and the memory of the units, for an update that is
// prepared with them. A null group has this rank alone.
struct OptimizerContext {
  Communicator* world = nullptr;
  // The ranks that divide every unit into slices, in the order of SliceOf() (trainer/parallel).
  Communicator* shard = nullptr;
  // The ranks that divide tensors into parts, in the order of ModelPart.
  Communicator* tensor = nullptr;
  // By unit, the ranks that hold the same slice of it; null if this rank has nothing of the unit.
  // All ranks of a group have the same units with it.
  std::vector<Communicator*> replicas;
  // Gives a unit's values and state memory, with their contents, until Drop. Null if they have it
  // always.
  std::function<absl::Status(int unit)> bring;
  std::function<void(int unit)> drop;

  absl::Status Bring(int unit) const { return bring ? bring(unit) : absl::OkStatus(); }
  void Drop(int unit) const {
    if (drop) drop(unit);
  }
};

// Writes a step into the values, in place. Prepare may communicate and writes scratch memory only;
// Apply is local and cannot fail, so that every rank that lives carries out a decision once it is
// voted. Not thread-safe.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Takes effect with the next Apply. The factory, and whether there is momentum, must be the same
  // as before, because the state tensors stay as they are.
  virtual void Configure(const OptimizerOptions& options) = 0;

  // Returns true if Prepare does anything; the ranks then confirm its result after the vote.
  virtual bool has_prepare() const { return false; }
  // Called by all ranks between vote and Apply, with the gradients as they were reduced, without
  // the factor. The values and the state of a unit are read between Bring and Drop only. What it
  // writes stays until the next call. Returns false if this rank's part of the update is not
  // finite.
  virtual absl::StatusOr<bool> Prepare(const UpdateOptions&, const OptimizerContext&) {
    return true;
  }
  // Writes the step into one unit, whose values and state have memory until this returns; a step
  // calls it once for each. The gradients are as they were reduced: it multiplies them by the
  // factor of `options`, and may leave anything in their memory.
  virtual void Apply(int unit, const UpdateOptions& options) = 0;

  // Returns the flat state tensors of one unit, in the order of state_names(); they live as long as
  // this. Each has a storage of its own.
  virtual const std::vector<std::string>& state_names() const = 0;
  virtual std::vector<at::Tensor> state(int unit) const = 0;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_OPTIM_OPTIMIZER_H_
