#include "trainer/comm/gloo_communicator.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "ATen/ops/empty.h"
#include "ATen/ops/empty_like.h"
#include "ATen/ops/maximum.h"
#include "ATen/ops/minimum.h"
#include "ATen/ops/zeros.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "torch/csrc/distributed/c10d/ProcessGroupGloo.hpp"
#include "trainer/comm/flight_record.h"
#include "trainer/comm/gloo_group.h"
#include "trainer/comm/operation.h"

namespace muster::trainer {
namespace {

using Work = c10::intrusive_ptr<c10d::Work>;

c10d::ReduceOp ToGloo(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return c10d::ReduceOp::SUM;
    case ReduceOp::kMax:
      return c10d::ReduceOp::MAX;
    case ReduceOp::kMin:
      return c10d::ReduceOp::MIN;
  }
  return c10d::ReduceOp::SUM;
}

// Gloo tells errors apart only by their text.
absl::Status ToStatus(const std::string& text) {
  const std::string line = text.substr(0, text.find('\n'));
  const std::string lower = absl::AsciiStrToLower(line);
  if (absl::StrContains(lower, "timed out") || absl::StrContains(lower, "timeout")) {
    return absl::DeadlineExceededError(absl::StrCat("a peer is silent: ", line));
  }
  return absl::UnavailableError(absl::StrCat("a peer is gone: ", line));
}

// The group and its first failure, which every operation after it shares.
class Shared {
 public:
  explicit Shared(GlooGroup group) : group_(std::move(group)) {}
  ~Shared() {
    // Destroying the group waits for what it has in flight.
    if (!failure().ok() || in_flight_ > 0) ShutDown(group_.sockets);
  }

  c10d::ProcessGroupGloo& group() { return *group_.process_group; }
  absl::Duration deadline() const { return group_.deadline; }
  bool check() const { return group_.check; }
  FlightRecord& record() { return record_; }

  absl::Status failure() const {
    MutexLock lock(mu_);
    return failure_;
  }
  // The first failure stands. Ends everything in flight, here and on the peers.
  absl::Status Fail(const absl::Status& status) {
    MutexLock lock(mu_);
    if (failure_.ok()) {
      failure_ = status;
      ShutDown(group_.sockets);
    }
    return failure_;
  }

  void Started() { ++in_flight_; }
  void Ended() { --in_flight_; }

 private:
  const GlooGroup group_;
  FlightRecord record_;
  std::atomic<int> in_flight_ = 0;
  mutable Mutex mu_;
  absl::Status failure_ MUSTER_GUARDED_BY(mu_);
};

class Finished final : public Pending {
 public:
  explicit Finished(absl::Status status) : status_(std::move(status)) {}
  absl::Status Wait() override { return status_; }

 private:
  const absl::Status status_;
};

// What Wait() does around waiting for Gloo.
struct Hooks {
  std::function<absl::Status()> before;
  std::function<void()> after;
};

class GlooPending final : public Pending {
 public:
  GlooPending(std::shared_ptr<Shared> shared, int64_t sequence, Fingerprint fingerprint, Work work,
              std::vector<at::Tensor> tensors, Hooks hooks)
      : shared_(std::move(shared)),
        sequence_(sequence),
        fingerprint_(std::move(fingerprint)),
        work_(std::move(work)),
        tensors_(std::move(tensors)),
        hooks_(std::move(hooks)) {
    shared_->Started();
  }
  ~GlooPending() override {
    if (work_ != nullptr) Settle();
  }

  absl::Status Wait() override {
    if (work_ == nullptr) return result_;
    try {
      if (hooks_.before) {
        if (absl::Status status = hooks_.before(); !status.ok()) return Failed(status);
      }
      work_->wait(absl::ToChronoMilliseconds(shared_->deadline()));
      if (hooks_.after) hooks_.after();
      work_.reset();
      tensors_.clear();
      shared_->Ended();
      shared_->record().Completed(sequence_);
      return result_;
    } catch (const c10::Error& e) {
      return Failed(ToStatus(e.what_without_backtrace()));
    } catch (const std::exception& e) {
      return Failed(ToStatus(e.what()));
    }
  }

 private:
  absl::Status Failed(const absl::Status& status) {
    result_ = shared_->Fail(
        absl::Status(status.code(), absl::StrCat("operation #", sequence_, " ",
                                                 fingerprint_.ToString(), ": ", status.message())));
    Settle();
    return result_;
  }

  // The group's threads must be done with the tensors before they may go.
  void Settle() {
    if (!shared_->failure().ok()) shared_->record().Failed(sequence_);
    const bool message =
        fingerprint_.kind == OperationKind::kSend || fingerprint_.kind == OperationKind::kRecv;
    for (int i = 0; i < 5000 && !message && !work_->isCompleted(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    work_.reset();
    tensors_.clear();
    shared_->Ended();
  }

  const std::shared_ptr<Shared> shared_;  // operations may outlive their communicator
  const int64_t sequence_;
  const Fingerprint fingerprint_;
  Work work_;
  std::vector<at::Tensor> tensors_;
  const Hooks hooks_;
  absl::Status result_;
};

// What ranks exchange in check mode: the fingerprint as text, cut to this length.
constexpr int64_t kCheckBytes = 160;

class GlooCommunicator final : public Communicator {
 public:
  explicit GlooCommunicator(GlooGroup group)
      : rank_(group.process_group->getRank()),
        size_(group.process_group->getSize()),
        shared_(std::make_shared<Shared>(std::move(group))) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::unique_ptr<Pending> AllReduce(at::Tensor tensor, ReduceOp op,
                                     std::string_view label) override {
    return Issue(FingerprintOf(OperationKind::kAllReduce, tensor, label, op), {tensor}, [&] {
      c10d::AllreduceOptions options;
      options.reduceOp = ToGloo(op);
      std::vector<at::Tensor> tensors{tensor};
      return group().allreduce(tensors, options);
    });
  }

  // Gloo's own takes three times an all-reduce. Slices go straight to their owners, who add them in
  // rank order.
  std::unique_ptr<Pending> ReduceScatter(at::Tensor output, at::Tensor input, ReduceOp op,
                                         std::string_view label) override {
    at::Tensor received = at::empty_like(input);
    Hooks hooks;
    hooks.after = [output, received, op, size = size_] {
      const int64_t slice = output.numel();
      output.copy_(received.narrow(0, 0, slice));
      for (int r = 1; r < size; ++r) {
        const at::Tensor next = received.narrow(0, r * slice, slice);
        if (op == ReduceOp::kSum) output.add_(next);
        if (op == ReduceOp::kMax) output.copy_(at::maximum(output, next));
        if (op == ReduceOp::kMin) output.copy_(at::minimum(output, next));
      }
    };
    return Issue(
        FingerprintOf(OperationKind::kReduceScatter, input, label, op), {output, input, received},
        [&] {
          std::vector<int64_t> equal;
          return group().alltoall_base(received, input, equal, equal);
        },
        std::move(hooks));
  }

  std::unique_ptr<Pending> AllGather(at::Tensor output, at::Tensor input,
                                     std::string_view label) override {
    return Issue(FingerprintOf(OperationKind::kAllGather, input, label), {output, input},
                 [&] { return group()._allgather_base(output, input); });
  }

  std::unique_ptr<Pending> AllToAllV(at::Tensor output, std::vector<int64_t> output_counts,
                                     at::Tensor input, std::vector<int64_t> input_counts,
                                     std::string_view label) override {
    return Issue(FingerprintOf(OperationKind::kAllToAllV, input, label), {output, input},
                 [&] { return group().alltoall_base(output, input, output_counts, input_counts); });
  }

  std::unique_ptr<Pending> Broadcast(at::Tensor tensor, int root, std::string_view label) override {
    Fingerprint print =
        FingerprintOf(OperationKind::kBroadcast, tensor, label, ReduceOp::kSum, root);
    return Issue(std::move(print), {tensor}, [&] {
      c10d::BroadcastOptions options;
      options.rootRank = root;
      std::vector<at::Tensor> tensors{tensor};
      return group().broadcast(tensors, options);
    });
  }

  std::unique_ptr<Pending> Send(at::Tensor tensor, int to, std::string_view label) override {
    Fingerprint print = FingerprintOf(OperationKind::kSend, tensor, label, ReduceOp::kSum, to);
    return Issue(std::move(print), {tensor}, [&] {
      std::vector<at::Tensor> tensors{tensor};
      return group().send(tensors, to, kMessageTag);
    });
  }

  std::unique_ptr<Pending> Recv(at::Tensor tensor, int from, std::string_view label) override {
    Fingerprint print = FingerprintOf(OperationKind::kRecv, tensor, label, ReduceOp::kSum, from);
    return Issue(std::move(print), {tensor}, [&] {
      std::vector<at::Tensor> tensors{tensor};
      return group().recv(tensors, from, kMessageTag);
    });
  }

  std::unique_ptr<Pending> Barrier() override {
    return Issue({}, {}, [&] { return group().barrier(); });
  }

  void Abort(std::string_view why) override {
    (void)shared_->Fail(absl::AbortedError(std::string(why)));
  }
  std::string DumpFlightRecord() const override { return shared_->record().Dump(); }

 private:
  static constexpr int kMessageTag = 1, kCheckTag = 2;

  c10d::ProcessGroupGloo& group() { return shared_->group(); }

  std::unique_ptr<Pending> Issue(Fingerprint print, std::vector<at::Tensor> tensors,
                                 const std::function<Work()>& start, Hooks hooks = {}) {
    if (absl::Status failure = shared_->failure(); !failure.ok()) {
      return std::make_unique<Finished>(failure);
    }
    const int64_t sequence = shared_->record().Issued(print);
    auto fail = [&](const absl::Status& status) {
      shared_->record().Failed(sequence);
      return std::make_unique<Finished>(shared_->Fail(status));
    };
    try {
      if (shared_->check()) {
        if (absl::Status status = Check(sequence, print, hooks); !status.ok()) return fail(status);
      }
      // Nothing to move; Gloo refuses empty tensors. Exchanges may be empty on one rank only.
      if (!tensors.empty() && tensors.back().numel() == 0 &&
          print.kind != OperationKind::kAllToAllV) {
        shared_->record().Completed(sequence);
        return std::make_unique<Finished>(absl::OkStatus());
      }
      return std::make_unique<GlooPending>(shared_, sequence, std::move(print), start(),
                                           std::move(tensors), std::move(hooks));
    } catch (const c10::Error& e) {
      return fail(absl::InternalError(absl::StrCat("operation #", sequence, " ", print.ToString(),
                                                   ": ", e.what_without_backtrace())));
    } catch (const std::exception& e) {
      return fail(ToStatus(e.what()));
    }
  }

  absl::Status Check(int64_t sequence, const Fingerprint& print, Hooks& hooks);
  void CheckMessage(const Fingerprint& print, Hooks& hooks);

  const int rank_;
  const int size_;
  const std::shared_ptr<Shared> shared_;
  // Check mode: messages' fingerprints on their way.
  std::deque<Work> check_sends_;
};

at::Tensor ToBytes(const std::string& text) {
  at::Tensor bytes = at::zeros({kCheckBytes}, at::kByte);
  std::memcpy(bytes.mutable_data_ptr(), text.data(),
              std::min<size_t>(text.size(), kCheckBytes - 1));
  return bytes;
}

std::string FromBytes(const at::Tensor& bytes) {
  return std::string(static_cast<const char*>(bytes.const_data_ptr()));
}

// Numbers are not compared: messages count on two ranks only.
absl::Status GlooCommunicator::Check(int64_t sequence, const Fingerprint& print, Hooks& hooks) {
  if (print.kind == OperationKind::kSend || print.kind == OperationKind::kRecv) {
    CheckMessage(print, hooks);
    return absl::OkStatus();
  }
  const std::string mine = print.ToString();
  at::Tensor input = ToBytes(mine);
  at::Tensor all = at::empty({kCheckBytes * size_}, at::kByte);
  group()._allgather_base(all, input)->wait(absl::ToChronoMilliseconds(shared_->deadline()));
  for (int r = 0; r < size_; ++r) {
    const std::string theirs = FromBytes(all.narrow(0, r * kCheckBytes, kCheckBytes));
    if (theirs == FromBytes(input)) continue;
    return absl::InternalError(absl::StrCat("ranks are at different operations: #", sequence,
                                            ": rank ", rank_, ": ", mine, "; rank ", r, ": ",
                                            theirs));
  }
  return absl::OkStatus();
}

// The fingerprint goes ahead of the message and is compared by the receiver, before it takes it.
void GlooCommunicator::CheckMessage(const Fingerprint& print, Hooks& hooks) {
  const auto deadline = absl::ToChronoMilliseconds(shared_->deadline());
  std::vector<at::Tensor> bytes{ToBytes(print.AsMessage(rank_))};
  if (print.kind == OperationKind::kSend) {
    check_sends_.push_back(group().send(bytes, print.peer, kCheckTag));
    if (check_sends_.size() > 256) {
      check_sends_.front()->wait(deadline);
      check_sends_.pop_front();
    }
    return;
  }
  const std::string expected = FromBytes(bytes[0]);
  const Work work = group().recv(bytes, print.peer, kCheckTag);
  hooks.before = [work, bytes, expected, deadline] {
    work->wait(deadline);
    const std::string theirs = FromBytes(bytes[0]);
    if (theirs == expected) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("ranks are at different operations: expected ",
                                            expected, ", the peer sent ", theirs));
  };
}

}  // namespace

std::unique_ptr<Communicator> MakeCommunicatorOf(GlooGroup group) {
  return std::make_unique<GlooCommunicator>(std::move(group));
}

}  // namespace muster::trainer
