#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "ATen/ops/zeros.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "trainer/comm/meeting.h"
#include "trainer/comm/store_client.h"
#include "trainer/cuda/nccl_communicator.h"
#include "trainer/cuda/nccl_parts.h"

namespace muster::trainer::cuda {

class NcclConnector::Impl {
 public:
  explicit Impl(NcclOptions options) : options_(std::move(options)) {}

  absl::StatusOr<std::unique_ptr<Communicator>> Connect() MUSTER_EXCLUDES(mu_);
  void Abort(std::string_view why) MUSTER_EXCLUDES(mu_);

 private:
  absl::StatusOr<std::unique_ptr<Communicator>> ConnectUntil(absl::Time until) MUSTER_EXCLUDES(mu_);
  // Rank 0 makes the id of the group, the others read it from the store.
  absl::StatusOr<ncclUniqueId> ShareId(absl::Time until);

  const NcclOptions options_;
  const std::shared_ptr<StoreClient> client_ = std::make_shared<StoreClient>();
  Mutex mu_;
  bool aborted_ MUSTER_GUARDED_BY(mu_) = false;
  std::string why_ MUSTER_GUARDED_BY(mu_);
  std::shared_ptr<NcclGroup> connecting_ MUSTER_GUARDED_BY(mu_);
};

absl::StatusOr<ncclUniqueId> NcclConnector::Impl::ShareId(absl::Time until) {
  const std::string key = options_.tag + "/nccl";
  ncclUniqueId id = {};
  if (options_.rank == 0) {
    const ncclResult_t result = options_.api.get_unique_id(&id);
    if (result != ncclSuccess) return NcclStatus(options_.api, result, "ncclGetUniqueId");
    MUSTER_RETURN_IF_ERROR(client_->Set(key, std::string(id.internal, sizeof(id.internal)), until));
    return id;
  }
  MUSTER_ASSIGN_OR_RETURN(const std::string text, client_->WaitFor(key, until));
  if (text.size() != sizeof(id.internal)) {
    return absl::InternalError("the store holds no NCCL id of this version");
  }
  std::memcpy(id.internal, text.data(), sizeof(id.internal));
  return id;
}

absl::StatusOr<std::unique_ptr<Communicator>> NcclConnector::Impl::ConnectUntil(absl::Time until) {
  MUSTER_RETURN_IF_ERROR(NcclGroup::CheckEarlierGroups());
  MUSTER_RETURN_IF_ERROR(client_->Connect(options_.store, options_.secret, until));
  MUSTER_RETURN_IF_ERROR(MeetRanks(*client_, options_.tag, options_.rank, options_.size, until));
  MUSTER_ASSIGN_OR_RETURN(const ncclUniqueId id, ShareId(until));
  MUSTER_ASSIGN_OR_RETURN(std::unique_ptr<DeviceQueue> queue, options_.make_queue());
  NcclParts parts{.rank = options_.rank, .size = options_.size};
  parts.group = std::make_shared<NcclGroup>(options_.api, std::move(queue), options_.deadline);
  {
    MutexLock lock(mu_);
    if (aborted_) return absl::AbortedError(why_);
    connecting_ = parts.group;
  }
  if (absl::Status met = parts.group->Init(options_.size, id, options_.rank, until); !met.ok()) {
    return parts.group->Fail(met);
  }
  try {
    parts.barrier = at::zeros({1}, at::TensorOptions(options_.device).dtype(at::kFloat));
  } catch (const c10::Error& e) {
    return absl::InternalError(e.what_without_backtrace());
  }
  if (options_.check) {
    parts.check = std::make_unique<OperationCheck>(client_, options_.tag, options_.rank,
                                                   options_.size, options_.deadline);
  }
  return MakeNcclCommunicator(std::move(parts));
}

absl::StatusOr<std::unique_ptr<Communicator>> NcclConnector::Impl::Connect() {
  auto result = ConnectUntil(Clock::Real().Monotonic() + options_.deadline);
  MutexLock lock(mu_);
  connecting_.reset();
  if (aborted_) return absl::AbortedError(why_);
  return result;
}

void NcclConnector::Impl::Abort(std::string_view why) {
  std::shared_ptr<NcclGroup> group;
  {
    MutexLock lock(mu_);
    if (aborted_) return;
    aborted_ = true;
    why_ = std::string(why);
    group = connecting_;
  }
  client_->Abort();
  if (group == nullptr) return;
  const absl::Status failure = group->Fail(absl::AbortedError(std::string(why)));
  (void)failure;
}

NcclConnector::NcclConnector(NcclOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}
NcclConnector::~NcclConnector() = default;

absl::StatusOr<std::unique_ptr<Communicator>> NcclConnector::Connect() { return impl_->Connect(); }
void NcclConnector::Abort(std::string_view why) { impl_->Abort(why); }

}  // namespace muster::trainer::cuda
