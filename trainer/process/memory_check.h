#ifndef MUSTER_TRAINER_PROCESS_MEMORY_CHECK_H_
#define MUSTER_TRAINER_PROCESS_MEMORY_CHECK_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "planner/memory.h"

namespace muster::trainer {

// Checks that the model fits before anything is allocated. All sizes are in bytes.

// Returns the memory that this process and its siblings may still allocate: MemAvailable, or the
// rest of the control group's limit if that is less. INT64_MAX if the machine reports neither.
int64_t AvailableMemory();

// A change of the spec, as the job's owner would write it, and the memory that a rank would need
// with it.
struct MemoryOption {
  std::string change;
  planner::MemoryEstimate estimate;
};

// Returns OK if `ranks` ranks that need `estimate` each fit into `available` bytes, else
// ResourceExhausted with the bytes needed, their parts, and the bytes available. `where` says in
// the message where that memory is, for example "on this machine". The message proposes the first
// of `options` that fits, or says what the smallest of them would need.
absl::Status CheckMemory(const planner::MemoryEstimate& estimate, int ranks, int64_t available,
                         std::string_view where, const std::vector<MemoryOption>& options = {});

// Checks the memory of a round that divides a copy of the state among `shards` ranks. A round of
// all workers divides it among `usual` ranks, and its memory was checked at the start. With fewer
// shards a rank holds more, so `check` is called with `shards`; a ResourceExhausted error is
// returned with both numbers.
absl::Status CheckRound(int shards, int usual, absl::FunctionRef<absl::Status(int among)> check);

// Returns the bytes of `key` in `text`, which has the format of /proc/meminfo; -1 if the key is
// missing or has no number.
int64_t ReadMeminfo(std::string_view text, std::string_view key);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_PROCESS_MEMORY_CHECK_H_
