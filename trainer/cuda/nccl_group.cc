#include "trainer/cuda/nccl_group.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/logging.h"
#include "base/status_macros.h"

namespace muster::trainer::cuda {
namespace {

// A group whose ranks all end well takes no longer than this to flush its last messages.
constexpr absl::Duration kFlushTime = absl::Seconds(5);

// An aborted kernel sees so within milliseconds.
constexpr absl::Duration kDrainTime = absl::Seconds(5);

absl::Time Now() { return Clock::Real().Monotonic(); }

// The tensors of groups that ended before their operations did.
struct Remains {
  std::vector<at::Tensor> tensors;
  std::unique_ptr<DeviceQueue> queue;
  std::unique_ptr<QueueMark> mark;  // null: the device refused it
};

struct EarlierGroups {
  Mutex mu;
  std::vector<Remains> remains MUSTER_GUARDED_BY(mu);
};

// Lives as long as the process: the device may write until then.
EarlierGroups& Earlier() {
  static auto* const earlier = new EarlierGroups;
  return *earlier;
}

bool HasPassed(QueueMark& mark) { return mark.Passed().value_or(false); }

}  // namespace

absl::Status NcclStatus(const NcclApi& api, ncclResult_t result, std::string_view call) {
  const std::string text = absl::StrCat(std::string(call), ": ", api.get_error_string(result));
  if (result == ncclRemoteError || result == ncclSystemError) {
    return absl::UnavailableError(absl::StrCat("a peer is gone: ", text));
  }
  return absl::InternalError(text);
}

absl::Status NcclGroup::Init(int size, const ncclUniqueId& id, int rank, absl::Time until) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  {
    MutexLock lock(mu_);
    const ncclResult_t result = api_.comm_init_rank_config(&comm_, size, id, rank, &config);
    if (result != ncclSuccess && result != ncclInProgress) {
      comm_ = nullptr;
      return NcclStatus(api_, result, "ncclCommInitRankConfig");
    }
  }
  return Settle(until);
}

// A group that failed was aborted by then; one that did not has to bring its last messages to its
// peers before the handle goes.
NcclGroup::~NcclGroup() {
  EndHandle();
  if (!abandoned_.empty()) FreeAbandoned();
}

void NcclGroup::FreeAbandoned() {
  Remains remains = {std::move(abandoned_), std::move(queue_), nullptr};
  if (auto mark = remains.queue->Mark(); mark.ok()) remains.mark = *std::move(mark);
  const absl::Time until = Now() + std::min(kDrainTime, deadline_);
  while (remains.mark != nullptr && Now() < until) {
    if (HasPassed(*remains.mark)) return;
    MutexLock lock(mu_);
    failed_.WaitFor(mu_, absl::Microseconds(100));
  }
  MUSTER_LOG(ERROR, "operations of an NCCL group that was aborted still run on this GPU");
  MutexLock lock(Earlier().mu);
  Earlier().remains.push_back(std::move(remains));
}

absl::Status NcclGroup::CheckEarlierGroups() {
  MutexLock lock(Earlier().mu);
  std::erase_if(Earlier().remains, [](const Remains& remains) {
    return remains.mark != nullptr && HasPassed(*remains.mark);
  });
  if (Earlier().remains.empty()) return absl::OkStatus();
  return absl::UnavailableError(
      "operations of an earlier round, which was aborted, still run on this GPU");
}

void NcclGroup::EndHandle() {
  MutexLock lock(mu_);
  if (comm_ == nullptr) return;
  const bool healthy = tracker_.failure().ok() && abandoned_.empty();
  ncclResult_t result = healthy ? api_.comm_finalize(comm_) : ncclInternalError;
  const absl::Time until = Now() + kFlushTime;
  while (result == ncclInProgress && Now() < until) {
    if (api_.comm_get_async_error(comm_, &result) != ncclSuccess) result = ncclInternalError;
    if (result == ncclInProgress) failed_.WaitFor(mu_, absl::Microseconds(100));
  }
  const ncclResult_t ended =
      result == ncclSuccess ? api_.comm_destroy(comm_) : api_.comm_abort(comm_);
  if (ended != ncclSuccess && ended != ncclInProgress) {
    MUSTER_LOG(WARN, "an NCCL group did not end well", {"error", api_.get_error_string(ended)});
  }
}

absl::StatusOr<std::shared_ptr<QueueMark>> NcclGroup::Enqueue(const Call& call) {
  MUSTER_RETURN_IF_ERROR(queue_->WaitForCompute());
  {
    MutexLock lock(mu_);
    if (comm_ == nullptr) return tracker_.failure();
    const ncclResult_t result = call(comm_, queue_->stream());
    if (result != ncclSuccess && result != ncclInProgress) {
      return NcclStatus(api_, result, "NCCL");
    }
  }
  MUSTER_RETURN_IF_ERROR(Settle(Now() + deadline_));
  MUSTER_ASSIGN_OR_RETURN(std::unique_ptr<QueueMark> mark, queue_->Mark());
  return std::shared_ptr<QueueMark>(std::move(mark));
}

ncclResult_t NcclGroup::AsyncError() {
  MutexLock lock(mu_);
  ncclResult_t state = ncclInternalError;
  if (comm_ == nullptr) return state;
  const ncclResult_t asked = api_.comm_get_async_error(comm_, &state);
  return asked == ncclSuccess ? state : asked;
}

absl::Status NcclGroup::Settle(absl::Time until) {
  for (int turn = 0;; ++turn) {
    const ncclResult_t state = AsyncError();
    MUSTER_RETURN_IF_ERROR(tracker_.failure());
    if (state == ncclSuccess) return absl::OkStatus();
    if (state != ncclInProgress) return NcclStatus(api_, state, "NCCL");
    if (Now() >= until)
      return absl::DeadlineExceededError("a peer is silent: NCCL does not connect");
    Pause(turn);
  }
}

absl::Status NcclGroup::Await(QueueMark& mark) {
  const absl::Time until = Now() + deadline_;
  for (int turn = 0;; ++turn) {
    MUSTER_RETURN_IF_ERROR(tracker_.failure());
    MUSTER_ASSIGN_OR_RETURN(const bool passed, mark.Passed());
    if (passed) return absl::OkStatus();
    const ncclResult_t state = AsyncError();
    MUSTER_RETURN_IF_ERROR(tracker_.failure());
    if (state != ncclSuccess && state != ncclInProgress) return NcclStatus(api_, state, "NCCL");
    if (Now() >= until) {
      return absl::DeadlineExceededError(
          absl::StrCat("a peer is silent: the operation has not ended within ",
                       absl::FormatDuration(deadline_)));
    }
    Pause(turn);
  }
}

// A wait spins at first: a small collective takes some 20 microseconds.
void NcclGroup::Pause(int turn) {
  constexpr int kSpins = 64;
  if (turn < kSpins) return;
  MutexLock lock(mu_);
  if (comm_ == nullptr) return;
  failed_.WaitFor(mu_,
                  std::min(absl::Microseconds(20) * (turn - kSpins + 1), absl::Milliseconds(1)));
}

absl::Status NcclGroup::Fail(const absl::Status& status) {
  const absl::Status failure = tracker_.Fail(status);
  MutexLock lock(mu_);
  if (comm_ != nullptr) {
    const ncclResult_t result = api_.comm_abort(comm_);
    comm_ = nullptr;
    if (result != ncclSuccess && result != ncclInProgress) {
      MUSTER_LOG(WARN, "NCCL did not abort a group", {"error", api_.get_error_string(result)});
    }
  }
  failed_.NotifyAll();
  return failure;
}

void NcclGroup::Abandon(std::vector<at::Tensor> tensors) {
  std::move(tensors.begin(), tensors.end(), std::back_inserter(abandoned_));
}

}  // namespace muster::trainer::cuda
