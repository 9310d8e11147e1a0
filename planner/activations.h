#ifndef MUSTER_PLANNER_ACTIVATIONS_H_
#define MUSTER_PLANNER_ACTIVATIONS_H_

#include <cstdint>

#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::planner {

// The tensors that a forward pass keeps for the backward pass. Pure arithmetic, thread-safe.

// The format of tensors that are saved for the backward pass.
enum class SavedFormat { kWhole, kBf16, kInt8 };

// The number of consecutive numbers that share one scale in INT8.
inline constexpr int64_t kInt8Block = 256;
// Smaller tensors are saved whole: they take little memory.
inline constexpr int64_t kFewestPacked = 256;

struct ActivationOptions {
  // Every recompute_every-th block is computed again before its backward pass. 0 leaves all as they
  // are.
  int32_t recompute_every = 0;
  // The format of what the other blocks save.
  SavedFormat format = SavedFormat::kWhole;

  bool operator==(const ActivationOptions&) const = default;
};

ActivationOptions ActivationsOf(const v1alpha1::ActivationsSpec& spec);

// Returns true if `block` of a model of `blocks` is computed again. Blocks count from 0 over the
// whole model, however it is divided, and of each `recompute_every` the last one is meant. The
// model's last block has its backward pass right after its forward pass, and would save nothing.
inline bool IsRecomputed(const ActivationOptions& options, int64_t block, int64_t blocks) {
  return options.recompute_every > 0 && block + 1 < blocks &&
         block % options.recompute_every == options.recompute_every - 1;
}

// Returns true if the block saves its tensors in options.format. A block that is computed again
// saves them for a moment only, and so does the last one.
inline bool IsPacked(const ActivationOptions& options, int64_t block, int64_t blocks) {
  return options.format != SavedFormat::kWhole && block + 1 < blocks &&
         !IsRecomputed(options, block, blocks);
}

// Returns the bytes that `numbers` numbers of `bytes_of_number` bytes each take in a format. BF16
// leaves numbers as they are that are no wider. Each block of INT8 has a scale besides, which is as
// wide as the numbers, but no narrower than FP32.
int64_t PackedBytes(SavedFormat format, int64_t numbers, int64_t bytes_of_number);

}  // namespace muster::planner

#endif  // MUSTER_PLANNER_ACTIVATIONS_H_
