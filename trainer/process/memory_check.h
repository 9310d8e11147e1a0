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

// Returns how much this process and its siblings may still allocate: MemAvailable, or what the
// control group leaves if that is less. INT64_MAX if the machine reports neither.
int64_t AvailableMemory();

// A change of the job, as its owner would write it, and what a rank would need with it.
struct MemoryOption {
  std::string change;
  planner::MemoryEstimate estimate;
};

// Returns ResourceExhausted, with the bytes needed, what each part of them is for, and the bytes
// available, if `ranks` ranks that need `estimate` each do not fit into `available`; `where` is
// where that is. It proposes the first of `options` that fits, or says what the least of them would
// need.
absl::Status CheckMemory(const planner::MemoryEstimate& estimate, int ranks, int64_t available,
                         std::string_view where, const std::vector<MemoryOption>& options = {});

// Checks a round whose ranks divide a copy of the state among `shards`, while a round of all
// workers, for which memory was checked at the start, divides it among `usual`. With fewer, `check`
// is asked whether a rank has room; its error is returned with both numbers.
absl::Status CheckRound(int shards, int usual, absl::FunctionRef<absl::Status(int among)> check);

// Returns the number of bytes of `key` in a text of /proc/meminfo's format; -1 if there is none.
int64_t ReadMeminfo(std::string_view text, std::string_view key);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_PROCESS_MEMORY_CHECK_H_
