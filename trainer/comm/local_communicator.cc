#include "trainer/comm/local_communicator.h"

#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "ATen/ops/maximum.h"
#include "ATen/ops/minimum.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "trainer/comm/finished.h"
#include "trainer/comm/flight_record.h"

namespace muster::trainer {
namespace {

// One rank's part in an operation.
struct Share {
  at::Tensor output, input;
  std::vector<int64_t> output_counts, input_counts;
};
using Shares = std::vector<Share>;
using Carry = std::function<void(Shares&)>;

struct Operation {
  Shares shares;
  int arrived = 0, waited = 0;
  bool done = false;
  std::string fingerprint;  // as text, of the first rank to arrive
  int first = 0;
};

// Is (-1, -1, n) for the n-th collective, (from, to, n) for the n-th message between two ranks.
using Key = std::tuple<int, int, int64_t>;

struct Hub {
  explicit Hub(const LocalOptions& options) : options(options) {}
  const LocalOptions options;
  Mutex mu;
  CondVar changed;
  std::map<Key, Operation> operations MUSTER_GUARDED_BY(mu);
  // The first failure and the rank that caused it; see FailureFor for the other ranks.
  absl::Status failure MUSTER_GUARDED_BY(mu);
  int failed_rank MUSTER_GUARDED_BY(mu) = -1;

  void Fail(int rank, const absl::Status& status) MUSTER_REQUIRES(mu) {
    if (!failure.ok()) return;
    failure = status;
    failed_rank = rank;
    changed.NotifyAll();
  }
  absl::Status FailureFor(int rank) MUSTER_REQUIRES(mu) {
    if (failure.ok() || rank == failed_rank || absl::IsInternal(failure)) return failure;
    return absl::UnavailableError(absl::StrCat("a peer is gone: rank ", failed_rank));
  }
};

class LocalPending final : public Pending {
 public:
  LocalPending(std::shared_ptr<Hub> hub, std::shared_ptr<FlightRecord> record, Key key, int parties,
               int rank, int64_t sequence)
      : hub_(std::move(hub)),
        record_(std::move(record)),
        key_(key),
        parties_(parties),
        rank_(rank),
        sequence_(sequence) {}

  absl::Status Wait() override {
    if (waited_) return result_;
    waited_ = true;
    MutexLock lock(hub_->mu);
    const absl::Time until = Clock::Real().Monotonic() + hub_->options.deadline;
    Operation& operation = hub_->operations[key_];
    while (!operation.done && hub_->failure.ok()) {
      const absl::Duration left = until - Clock::Real().Monotonic();
      if (left <= absl::ZeroDuration()) {
        hub_->Fail(rank_,
                   absl::DeadlineExceededError(absl::StrCat(
                       "a peer is silent: operation #", sequence_, " ", operation.fingerprint)));
        break;
      }
      hub_->changed.WaitFor(hub_->mu, left);
    }
    if (operation.done) {
      record_->Completed(sequence_);
      if (++operation.waited == parties_) hub_->operations.erase(key_);
    } else {
      record_->Failed(sequence_);
      result_ = hub_->FailureFor(rank_);
    }
    return result_;
  }

 private:
  const std::shared_ptr<Hub> hub_;              // shared by all ranks
  const std::shared_ptr<FlightRecord> record_;  // may outlive its communicator
  const Key key_;
  const int parties_;
  const int rank_;
  const int64_t sequence_;
  bool waited_ = false;
  absl::Status result_;
};

at::Tensor Reduced(const Shares& shares, ReduceOp op, at::Tensor Share::* part) {
  at::Tensor sum = (shares[0].*part).clone();
  for (size_t r = 1; r < shares.size(); ++r) {
    const at::Tensor& next = shares[r].*part;
    if (op == ReduceOp::kSum) sum.add_(next);
    if (op == ReduceOp::kMax) sum.copy_(at::maximum(sum, next));
    if (op == ReduceOp::kMin) sum.copy_(at::minimum(sum, next));
  }
  return sum;
}

void Exchange(Shares& shares) {
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
}

class LocalCommunicator final : public Communicator {
 public:
  LocalCommunicator(std::shared_ptr<Hub> hub, int rank)
      : hub_(std::move(hub)), record_(std::make_shared<FlightRecord>()), rank_(rank) {}
  ~LocalCommunicator() override { Abort("destroyed"); }

  int rank() const override { return rank_; }
  int size() const override { return hub_->options.size; }

  std::unique_ptr<Pending> AllReduce(at::Tensor tensor, ReduceOp op,
                                     std::string_view label) override {
    return Collective(FingerprintOf(OperationKind::kAllReduce, tensor, label, op),
                      {.output = tensor}, [op](Shares& shares) {
                        const at::Tensor sum = Reduced(shares, op, &Share::output);
                        for (Share& share : shares) share.output.copy_(sum);
                      });
  }
  std::unique_ptr<Pending> ReduceScatter(at::Tensor output, at::Tensor input, ReduceOp op,
                                         std::string_view label) override {
    return Collective(FingerprintOf(OperationKind::kReduceScatter, input, label, op),
                      {.output = output, .input = input}, [op](Shares& shares) {
                        const at::Tensor sum = Reduced(shares, op, &Share::input);
                        int64_t begin = 0;
                        for (Share& share : shares) {
                          share.output.copy_(sum.narrow(0, begin, share.output.numel()));
                          begin += share.output.numel();
                        }
                      });
  }
  std::unique_ptr<Pending> AllGather(at::Tensor output, at::Tensor input,
                                     std::string_view label) override {
    return Collective(FingerprintOf(OperationKind::kAllGather, input, label),
                      {.output = output, .input = input}, [](Shares& shares) {
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
                                     std::string_view label) override {
    return Collective(FingerprintOf(OperationKind::kAllToAllV, input, label),
                      {output, input, std::move(output_counts), std::move(input_counts)}, Exchange);
  }
  std::unique_ptr<Pending> Broadcast(at::Tensor tensor, int root, std::string_view label) override {
    return Collective(FingerprintOf(OperationKind::kBroadcast, tensor, label, ReduceOp::kSum, root),
                      {.output = tensor}, [root](Shares& shares) {
                        for (Share& share : shares)
                          share.output.copy_(shares[static_cast<size_t>(root)].output);
                      });
  }
  std::unique_ptr<Pending> Send(at::Tensor tensor, int to, std::string_view label) override {
    return Message(FingerprintOf(OperationKind::kSend, tensor, label, ReduceOp::kSum, to), rank_,
                   to, tensor);
  }
  std::unique_ptr<Pending> Recv(at::Tensor tensor, int from, std::string_view label) override {
    return Message(FingerprintOf(OperationKind::kRecv, tensor, label, ReduceOp::kSum, from), from,
                   rank_, tensor);
  }
  std::unique_ptr<Pending> Barrier() override {
    return Collective({}, {}, [](Shares&) {});
  }

  void Abort(std::string_view why) override {
    MutexLock lock(hub_->mu);
    hub_->Fail(rank_, absl::AbortedError(std::string(why)));
  }
  std::string DumpFlightRecord() const override { return record_->Dump(); }

 private:
  std::unique_ptr<Pending> Collective(const Fingerprint& fingerprint, Share share,
                                      const Carry& carry) {
    return Issue(fingerprint, fingerprint.ToString(), Key(-1, -1, collectives_++), size(), rank_,
                 std::move(share), carry);
  }

  std::unique_ptr<Pending> Message(const Fingerprint& fingerprint, int from, int to,
                                   at::Tensor tensor) {
    if (from == to || std::min(from, to) < 0 || std::max(from, to) >= size()) {
      return std::make_unique<Finished>(
          absl::InvalidArgumentError(absl::StrCat("no such peer: ", fingerprint.ToString())));
    }
    return Issue(fingerprint, fingerprint.AsMessage(rank_), Key(from, to, messages_[{from, to}]++),
                 /*parties=*/2, /*place=*/rank_ == from ? 0 : 1, {.output = std::move(tensor)},
                 [](Shares& shares) { shares[1].output.copy_(shares[0].output); });
  }

  std::unique_ptr<Pending> Issue(const Fingerprint& fingerprint, const std::string& common, Key key,
                                 int parties, int place, Share share, const Carry& carry) {
    const int64_t sequence = record_->Issued(fingerprint);
    absl::Status died;
    if (hub_->options.before_operation) died = hub_->options.before_operation(rank_, fingerprint);
    for (const at::Tensor& tensor : {share.output, share.input}) {
      if (hub_->options.before_tensors && tensor.defined()) {
        died.Update(hub_->options.before_tensors(tensor));
      }
    }
    MutexLock lock(hub_->mu);
    if (!died.ok()) hub_->Fail(rank_, died);
    if (!hub_->failure.ok()) {
      record_->Failed(sequence);
      return std::make_unique<Finished>(hub_->FailureFor(rank_));
    }
    Operation& operation = hub_->operations[key];
    if (operation.arrived == 0) {
      operation.fingerprint = common;
      operation.first = rank_;
    } else if (operation.fingerprint != common) {
      hub_->Fail(rank_, absl::InternalError(absl::StrCat(
                            "ranks are at different operations: rank ", operation.first, ": ",
                            operation.fingerprint, "; rank ", rank_, ": ", common)));
      record_->Failed(sequence);
      return std::make_unique<Finished>(hub_->failure);
    }
    operation.shares.resize(static_cast<size_t>(parties));
    operation.shares[static_cast<size_t>(place)] = std::move(share);
    if (++operation.arrived == parties) {
      carry(operation.shares);
      operation.shares.clear();
      operation.done = true;
      hub_->changed.NotifyAll();
    }
    return std::make_unique<LocalPending>(hub_, record_, key, parties, rank_, sequence);
  }

  const std::shared_ptr<Hub> hub_;
  const std::shared_ptr<FlightRecord> record_;
  const int rank_;
  int64_t collectives_ = 0;
  std::map<std::pair<int, int>, int64_t> messages_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> MakeLocalCommunicators(const LocalOptions& options) {
  auto hub = std::make_shared<Hub>(options);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (int rank = 0; rank < options.size; ++rank) {
    communicators.push_back(std::make_unique<LocalCommunicator>(hub, rank));
  }
  return communicators;
}

}  // namespace muster::trainer
