#include "trainer/cuda/nccl_api.h"

#include <dlfcn.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::trainer::cuda {
namespace {

std::string VersionText(int version) {
  return absl::StrCat(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

}  // namespace

absl::StatusOr<NcclApi> LoadNccl(const std::string& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("NCCL cannot be loaded: ", dlerror()));
  }
  NcclApi api;
  std::vector<std::string> missing;
  auto find = [&](auto& function, const char* name) {
    void* const address = dlsym(handle, name);
    if (address == nullptr) missing.push_back(name);
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
  find(api.get_version, "ncclGetVersion");
  find(api.get_unique_id, "ncclGetUniqueId");
  find(api.get_error_string, "ncclGetErrorString");
  find(api.comm_init_rank_config, "ncclCommInitRankConfig");
  find(api.comm_get_async_error, "ncclCommGetAsyncError");
  find(api.comm_finalize, "ncclCommFinalize");
  find(api.comm_destroy, "ncclCommDestroy");
  find(api.comm_abort, "ncclCommAbort");
  find(api.group_start, "ncclGroupStart");
  find(api.group_end, "ncclGroupEnd");
  find(api.all_reduce, "ncclAllReduce");
  find(api.reduce_scatter, "ncclReduceScatter");
  find(api.all_gather, "ncclAllGather");
  find(api.broadcast, "ncclBroadcast");
  find(api.send, "ncclSend");
  find(api.recv, "ncclRecv");
  if (!missing.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(library, " lacks ", absl::StrJoin(missing, ", "), ": NCCL ",
                     VersionText(kOldestNccl), " or newer is needed"));
  }
  int version = 0;
  if (api.get_version(&version) != ncclSuccess || version < kOldestNccl) {
    return absl::FailedPreconditionError(absl::StrCat(library, " is NCCL ", VersionText(version),
                                                      "; ", VersionText(kOldestNccl),
                                                      " or newer is needed"));
  }
  return api;
}

}  // namespace muster::trainer::cuda
