#include "trainer/engine/thread_communicator.h"

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "ATen/ops/maximum.h"
#include "ATen/ops/minimum.h"
#include "base/mutex.h"

namespace muster::trainer {
namespace {

// What one rank brings to an operation.
struct Share {
  at::Tensor output, input;
  std::vector<int64_t> output_counts, input_counts;
};
using Carry = std::function<void(std::vector<Share>&)>;

struct Operation {
  std::vector<Share> shares;
  int arrived = 0;
  bool done = false;
};

struct Hub {
  explicit Hub(int size) : size(size) {}
  const int size;
  Mutex mu;
  CondVar changed;
  // By sequence number; by (from, to, sequence number) for messages.
  std::map<int64_t, Operation> operations MUSTER_GUARDED_BY(mu);
  std::map<std::tuple<int, int, int64_t>, Operation> messages MUSTER_GUARDED_BY(mu);
  int broken_by MUSTER_GUARDED_BY(mu) = -1;
};

class Waiting final : public Pending {
 public:
  Waiting(std::shared_ptr<Hub> hub, const Operation* operation, int rank)
      : hub_(std::move(hub)), operation_(operation), rank_(rank) {}

  absl::Status Wait() override {
    MutexLock lock(hub_->mu);
    while (operation_ != nullptr && !operation_->done && hub_->broken_by < 0) {
      hub_->changed.Wait(hub_->mu);
    }
    if (operation_ != nullptr && operation_->done) return absl::OkStatus();
    return hub_->broken_by == rank_ ? absl::AbortedError("aborted")
                                    : absl::UnavailableError("a peer is gone");
  }

 private:
  const std::shared_ptr<Hub> hub_;
  const Operation* operation_;  // null: refused when issued; map nodes stay where they are
  const int rank_;
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<Hub> hub, int rank) : hub_(std::move(hub)), rank_(rank) {}
  ~ThreadCommunicator() override { Abort(""); }

  int rank() const override { return rank_; }
  int size() const override { return hub_->size; }

  std::unique_ptr<Pending> AllReduce(at::Tensor tensor, ReduceOp op, std::string_view) override {
    return Issue({.output = tensor}, [op](std::vector<Share>& shares) {
      const at::Tensor sum = Reduced(shares, op, /*of_output=*/true);
      for (Share& share : shares) share.output.copy_(sum);
    });
  }
  std::unique_ptr<Pending> ReduceScatter(at::Tensor output, at::Tensor input, ReduceOp op,
                                         std::string_view) override {
    return Issue({.output = output, .input = input}, [op](std::vector<Share>& shares) {
      const at::Tensor sum = Reduced(shares, op, /*of_output=*/false);
      int64_t begin = 0;
      for (Share& share : shares) {
        share.output.copy_(sum.narrow(0, begin, share.output.numel()));
        begin += share.output.numel();
      }
    });
  }
  std::unique_ptr<Pending> AllGather(at::Tensor output, at::Tensor input,
                                     std::string_view) override {
    return Issue({.output = output, .input = input}, [](std::vector<Share>& shares) {
      for (Share& to : shares) {
        int64_t begin = 0;
        for (const Share& from : shares) {
          to.output.narrow(0, begin, from.input.numel()).copy_(from.input);
          begin += from.input.numel();
        }
      }
    });
  }
  std::unique_ptr<Pending> AllToAllV(at::Tensor output, std::vector<int64_t> output_counts,
                                     at::Tensor input, std::vector<int64_t> input_counts,
                                     std::string_view) override {
    return Issue({output, input, std::move(output_counts), std::move(input_counts)},
                 [](std::vector<Share>& shares) {
                   for (size_t to = 0; to < shares.size(); ++to) {
                     int64_t at_output = 0;
                     for (size_t from = 0; from < shares.size(); ++from) {
                       int64_t at_input = 0;
                       for (size_t i = 0; i < to; ++i) at_input += shares[from].input_counts[i];
                       const int64_t count = shares[from].input_counts[to];
                       shares[to]
                           .output.narrow(0, at_output, count)
                           .copy_(shares[from].input.narrow(0, at_input, count));
                       at_output += shares[to].output_counts[from];
                     }
                   }
                 });
  }
  std::unique_ptr<Pending> Broadcast(at::Tensor tensor, int root, std::string_view) override {
    return Issue({.output = tensor}, [root](std::vector<Share>& shares) {
      for (Share& share : shares) share.output.copy_(shares[static_cast<size_t>(root)].output);
    });
  }
  std::unique_ptr<Pending> Send(at::Tensor tensor, int to, std::string_view) override {
    return Message({rank_, to, sent_[to]++}, tensor, 0);
  }
  std::unique_ptr<Pending> Recv(at::Tensor tensor, int from, std::string_view) override {
    return Message({from, rank_, received_[from]++}, tensor, 1);
  }
  std::unique_ptr<Pending> Barrier() override {
    return Issue({}, [](std::vector<Share>&) {});
  }

  void Abort(std::string_view) override {
    MutexLock lock(hub_->mu);
    if (hub_->broken_by < 0) hub_->broken_by = rank_;
    hub_->changed.NotifyAll();
  }
  std::string DumpFlightRecord() const override { return ""; }

 private:
  static at::Tensor Reduced(const std::vector<Share>& shares, ReduceOp op, bool of_output) {
    at::Tensor sum = (of_output ? shares[0].output : shares[0].input).clone();
    for (size_t r = 1; r < shares.size(); ++r) {
      const at::Tensor& next = of_output ? shares[r].output : shares[r].input;
      if (op == ReduceOp::kSum) sum.add_(next);
      if (op == ReduceOp::kMax) sum.copy_(at::maximum(sum, next));
      if (op == ReduceOp::kMin) sum.copy_(at::minimum(sum, next));
    }
    return sum;
  }

  std::unique_ptr<Pending> Issue(Share share, const Carry& carry) {
    MutexLock lock(hub_->mu);
    if (hub_->broken_by >= 0) return std::make_unique<Waiting>(hub_, nullptr, rank_);
    Operation& operation = hub_->operations[sequence_++];
    Arrive(operation, static_cast<size_t>(rank_), hub_->size, std::move(share), carry);
    return std::make_unique<Waiting>(hub_, &operation, rank_);
  }

  std::unique_ptr<Pending> Message(std::tuple<int, int, int64_t> key, at::Tensor tensor,
                                   size_t side) {
    MutexLock lock(hub_->mu);
    if (hub_->broken_by >= 0) return std::make_unique<Waiting>(hub_, nullptr, rank_);
    Operation& operation = hub_->messages[key];
    Arrive(operation, side, 2, {.output = tensor},
           [](std::vector<Share>& shares) { shares[1].output.copy_(shares[0].output); });
    return std::make_unique<Waiting>(hub_, &operation, rank_);
  }

  void Arrive(Operation& operation, size_t place, int of, Share share, const Carry& carry)
      MUSTER_REQUIRES(hub_->mu) {
    operation.shares.resize(static_cast<size_t>(of));
    operation.shares[place] = std::move(share);
    if (++operation.arrived < of) return;
    carry(operation.shares);
    operation.shares.clear();
    operation.done = true;
    hub_->changed.NotifyAll();
  }

  const std::shared_ptr<Hub> hub_;  // shared by the ranks, and by operations that outlive one
  const int rank_;
  int64_t sequence_ = 0;
  std::map<int, int64_t> sent_, received_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> MakeThreadCommunicators(int size) {
  auto hub = std::make_shared<Hub>(size);
  std::vector<std::unique_ptr<Communicator>> out;
  for (int rank = 0; rank < size; ++rank) {
    out.push_back(std::make_unique<ThreadCommunicator>(hub, rank));
  }
  return out;
}

}  // namespace muster::trainer
