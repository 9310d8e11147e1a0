#ifndef MUSTER_TRAINER_ENGINE_MEMORY_CHECK_H_
#define MUSTER_TRAINER_ENGINE_MEMORY_CHECK_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "planner/model_presets.h"

namespace muster::trainer {

// Whether the model fits, said before anything is allocated. Bytes.

// What this process and its siblings may still allocate: MemAvailable, and what the control group
// leaves. INT64_MAX when the machine does not say.
int64_t AvailableMemory();

// ResourceExhausted with the bytes needed, what for, and the bytes there, when `ranks` ranks that
// need `estimate` each do not fit into `available`.
absl::Status CheckMemory(const planner::MemoryEstimate& estimate, int ranks, int64_t available);

// The number of bytes behind `key` in /proc/meminfo's format; -1 when there is none.
int64_t ReadMeminfo(std::string_view text, std::string_view key);

// For people, e.g. "1.5 GiB".
std::string ByteText(int64_t bytes);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_MEMORY_CHECK_H_
