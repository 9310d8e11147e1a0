#include "trainer/comm/gloo_communicator.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "ATen/ops/empty.h"
#include "ATen/ops/empty_like.h"
#include "ATen/ops/maximum.h"
#include "ATen/ops/minimum.h"
#include "ATen/ops/zeros.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "torch/csrc/distributed/c10d/ProcessGroupGloo.hpp"
#include "trainer/comm/finished.h"
#include "trainer/comm/gloo_group.h"
#include "trainer/comm/gloo_operation.h"
#include "trainer/comm/operation.h"
#include "trainer/comm/operation_tracker.h"

namespace muster::trainer {
namespace {

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

// Steps of Wait() before and after it waits for Gloo.
struct Hooks {
  std::function<absl::Status()> before;
  std::function<void()> after;
};

class GlooPending final : public Pending {
 public:
  GlooPending(std::shared_ptr<LiveGroup> group, int64_t sequence,
              std::unique_ptr<GlooOperation> operation, Hooks hooks)
      : group_(std::move(group)),
        sequence_(sequence),
        operation_(std::move(operation)),
        hooks_(std::move(hooks)) {}
  ~GlooPending() override {
    if (operation_ != nullptr && !group_->tracker()->failure().ok()) {
      group_->record().Failed(sequence_);
    }
  }

  absl::Status Wait() override {
    if (operation_ == nullptr) return result_;
    result_ = hooks_.before ? hooks_.before() : absl::OkStatus();
    if (result_.ok()) {
      result_ = operation_->Wait();
    } else {
      result_ = group_->Fail(result_);
    }
    if (result_.ok() && hooks_.after) hooks_.after();
    operation_.reset();
    if (result_.ok()) {
      group_->record().Completed(sequence_);
    } else {
      group_->record().Failed(sequence_);
    }
    return result_;
  }

 private:
  const std::shared_ptr<LiveGroup> group_;
  const int64_t sequence_;
  std::unique_ptr<GlooOperation> operation_;  // null once Wait() has returned
  const Hooks hooks_;
  absl::Status result_;
};

// The bytes of a fingerprint that ranks exchange as text in check mode; a longer one is cut.
constexpr int64_t kCheckBytes = 160;

class GlooCommunicator final : public Communicator {
 public:
  explicit GlooCommunicator(GlooGroup group)
      : rank_(group.process_group->getRank()),
        size_(group.process_group->getSize()),
        group_(std::make_shared<LiveGroup>(std::move(group))) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::unique_ptr<Pending> AllReduce(at::Tensor tensor, ReduceOp op,
                                     std::string_view label) override {
    return Issue(FingerprintOf(OperationKind::kAllReduce, tensor, label, op), {tensor}, [&] {
      c10d::AllreduceOptions options;
      options.reduceOp = ToGloo(op);
      std::vector<at::Tensor> tensors{tensor};
      return gloo().allreduce(tensors, options);
    });
  }

  // Sends slices straight to their owners, which add them in rank order: Gloo's own reduce-scatter
  // takes three times as long as an all-reduce.
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
          return gloo().alltoall_base(received, input, equal, equal);
        },
        std::move(hooks));
  }

  std::unique_ptr<Pending> AllGather(at::Tensor output, at::Tensor input,
                                     std::string_view label) override {
    return Issue(FingerprintOf(OperationKind::kAllGather, input, label), {output, input},
                 [&] { return gloo()._allgather_base(output, input); });
  }

  std::unique_ptr<Pending> AllToAllV(at::Tensor output, std::vector<int64_t> output_counts,
                                     at::Tensor input, std::vector<int64_t> input_counts,
                                     std::string_view label) override {
    return Issue(FingerprintOf(OperationKind::kAllToAllV, input, label), {output, input},
                 [&] { return gloo().alltoall_base(output, input, output_counts, input_counts); });
  }

  std::unique_ptr<Pending> Broadcast(at::Tensor tensor, int root, std::string_view label) override {
    Fingerprint fingerprint =
        FingerprintOf(OperationKind::kBroadcast, tensor, label, ReduceOp::kSum, root);
    return Issue(std::move(fingerprint), {tensor}, [&] {
      c10d::BroadcastOptions options;
      options.rootRank = root;
      std::vector<at::Tensor> tensors{tensor};
      return gloo().broadcast(tensors, options);
    });
  }

  std::unique_ptr<Pending> Send(at::Tensor tensor, int to, std::string_view label) override {
    Fingerprint fingerprint =
        FingerprintOf(OperationKind::kSend, tensor, label, ReduceOp::kSum, to);
    return Issue(std::move(fingerprint), {tensor}, [&] {
      std::vector<at::Tensor> tensors{tensor};
      return gloo().send(tensors, to, kMessageTag);
    });
  }

  std::unique_ptr<Pending> Recv(at::Tensor tensor, int from, std::string_view label) override {
    Fingerprint fingerprint =
        FingerprintOf(OperationKind::kRecv, tensor, label, ReduceOp::kSum, from);
    return Issue(std::move(fingerprint), {tensor}, [&] {
      std::vector<at::Tensor> tensors{tensor};
      return gloo().recv(tensors, from, kMessageTag);
    });
  }

  std::unique_ptr<Pending> Barrier() override {
    return Issue({}, {}, [&] { return gloo().barrier(); });
  }

  void Abort(std::string_view why) override {
    (void)group_->Fail(absl::AbortedError(std::string(why)));
  }
  std::string DumpFlightRecord() const override { return group_->record().Dump(); }

 private:
  static constexpr int kMessageTag = 1, kCheckTag = 2;

  c10d::ProcessGroupGloo& gloo() { return group_->process_group(); }

  std::unique_ptr<Pending> Issue(Fingerprint fingerprint, std::vector<at::Tensor> tensors,
                                 const std::function<GlooWork()>& start, Hooks hooks = {}) {
    if (absl::Status failure = group_->tracker()->failure(); !failure.ok()) {
      return std::make_unique<Finished>(failure);
    }
    const int64_t sequence = group_->record().Issued(fingerprint);
    auto fail = [&](const absl::Status& status) {
      group_->record().Failed(sequence);
      return std::make_unique<Finished>(group_->Fail(status));
    };
    try {
      if (group_->check()) {
        const absl::Status checked = Check(sequence, fingerprint, hooks);
        if (!checked.ok()) return fail(checked);
      }
      // There is nothing to move, and Gloo refuses empty tensors. An exchange may be empty on one
      // rank only.
      if (!tensors.empty() && tensors.back().numel() == 0 &&
          fingerprint.kind != OperationKind::kAllToAllV) {
        group_->record().Completed(sequence);
        return std::make_unique<Finished>(absl::OkStatus());
      }
      return std::make_unique<GlooPending>(
          group_, sequence,
          std::make_unique<GlooOperation>(group_, sequence, fingerprint, start(),
                                          std::move(tensors)),
          std::move(hooks));
    } catch (const c10::Error& e) {
      return fail(absl::InternalError(absl::StrCat(
          "operation #", sequence, " ", fingerprint.ToString(), ": ", e.what_without_backtrace())));
    } catch (const std::exception& e) {
      return fail(GlooStatus(e.what()));
    }
  }

  absl::Status Check(int64_t sequence, const Fingerprint& fingerprint, Hooks& hooks);
  absl::Status CheckMessage(int64_t sequence, const Fingerprint& fingerprint, Hooks& hooks);

  const int rank_;
  const int size_;
  const std::shared_ptr<LiveGroup> group_;
  // Fingerprints of messages on their way, in check mode.
  std::deque<GlooOperation> check_sends_;
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

// Sequence numbers are not compared: only two ranks count a message.
absl::Status GlooCommunicator::Check(int64_t sequence, const Fingerprint& fingerprint,
                                     Hooks& hooks) {
  if (fingerprint.kind == OperationKind::kSend || fingerprint.kind == OperationKind::kRecv) {
    return CheckMessage(sequence, fingerprint, hooks);
  }
  const std::string mine = fingerprint.ToString();
  at::Tensor input = ToBytes(mine);
  at::Tensor all = at::empty({kCheckBytes * size_}, at::kByte);
  GlooOperation exchange(group_, sequence, fingerprint, gloo()._allgather_base(all, input),
                         {all, input});
  MUSTER_RETURN_IF_ERROR(exchange.Wait());
  for (int r = 0; r < size_; ++r) {
    const std::string theirs = FromBytes(all.narrow(0, r * kCheckBytes, kCheckBytes));
    if (theirs == FromBytes(input)) continue;
    return absl::InternalError(absl::StrCat("ranks are at different operations: #", sequence,
                                            ": rank ", rank_, ": ", mine, "; rank ", r, ": ",
                                            theirs));
  }
  return absl::OkStatus();
}

// Sends the fingerprint ahead of the message; the receiver compares it before it takes the message.
absl::Status GlooCommunicator::CheckMessage(int64_t sequence, const Fingerprint& fingerprint,
                                            Hooks& hooks) {
  std::vector<at::Tensor> bytes{ToBytes(fingerprint.AsMessage(rank_))};
  if (fingerprint.kind == OperationKind::kSend) {
    check_sends_.emplace_back(group_, sequence, fingerprint,
                              gloo().send(bytes, fingerprint.peer, kCheckTag), bytes);
    if (check_sends_.size() <= 256) return absl::OkStatus();
    const absl::Status sent = check_sends_.front().Wait();
    check_sends_.pop_front();
    return sent;
  }
  const std::string expected = FromBytes(bytes[0]);
  auto operation = std::make_shared<GlooOperation>(
      group_, sequence, fingerprint, gloo().recv(bytes, fingerprint.peer, kCheckTag), bytes);
  hooks.before = [operation, sequence, bytes, expected]() -> absl::Status {
    MUSTER_RETURN_IF_ERROR(operation->Wait());
    const std::string theirs = FromBytes(bytes[0]);
    if (theirs == expected) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("ranks are at different operations: #", sequence,
                                            ": expected ", expected, ", the peer sent ", theirs));
  };
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<Communicator> MakeGlooCommunicatorFromGroup(GlooGroup group) {
  return std::make_unique<GlooCommunicator>(std::move(group));
}

}  // namespace muster::trainer
