#ifndef MUSTER_TRAINER_CUDA_NCCL_API_H_
#define MUSTER_TRAINER_CUDA_NCCL_API_H_

#include <nccl.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace muster::trainer::cuda {

// The functions of NCCL that the trainer calls, with NCCL's own contracts. The library is loaded at
// run time, so that a machine without it still trains on CPUs; tests put a fake in its place.
struct NcclApi {
  decltype(&::ncclGetVersion) get_version = nullptr;
  decltype(&::ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&::ncclGetErrorString) get_error_string = nullptr;
  decltype(&::ncclCommInitRankConfig) comm_init_rank_config = nullptr;
  decltype(&::ncclCommGetAsyncError) comm_get_async_error = nullptr;
  decltype(&::ncclCommFinalize) comm_finalize = nullptr;
  decltype(&::ncclCommDestroy) comm_destroy = nullptr;
  decltype(&::ncclCommAbort) comm_abort = nullptr;
  decltype(&::ncclGroupStart) group_start = nullptr;
  decltype(&::ncclGroupEnd) group_end = nullptr;
  decltype(&::ncclAllReduce) all_reduce = nullptr;
  decltype(&::ncclReduceScatter) reduce_scatter = nullptr;
  decltype(&::ncclAllGather) all_gather = nullptr;
  decltype(&::ncclBroadcast) broadcast = nullptr;
  decltype(&::ncclSend) send = nullptr;
  decltype(&::ncclRecv) recv = nullptr;
};

// The oldest NCCL that has all of these with the configuration that is used, as NCCL_VERSION
// counts.
inline constexpr int kOldestNccl = 21800;

// Loads `library` (a path, or a name that the loader finds, libnccl.so.2) for the life of the
// process. FailedPrecondition, naming what is missing or too old.
absl::StatusOr<NcclApi> LoadNccl(const std::string& library);

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_NCCL_API_H_
