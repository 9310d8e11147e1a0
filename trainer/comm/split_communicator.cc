#include "trainer/comm/split_communicator.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "trainer/comm/finished.h"

namespace muster::trainer {
namespace {

// Both halves, and the failure that they share. Thread-safe as far as a Communicator is.
class Halves {
 public:
  Halves(std::unique_ptr<Communicator> host, std::unique_ptr<Communicator> device)
      : host_(std::move(host)), device_(std::move(device)) {}

  Communicator& host() const { return *host_; }
  Communicator& device() const { return *device_; }

  absl::Status failure() const MUSTER_EXCLUDES(mu_) {
    MutexLock lock(mu_);
    return failure_;
  }
  // Fails both halves. The first failure stands and is returned.
  absl::Status Fail(const absl::Status& failure) MUSTER_EXCLUDES(mu_) {
    {
      MutexLock lock(mu_);
      if (!failure_.ok()) return failure_;
      failure_ = failure;
    }
    const std::string why(failure.message());
    host_->Abort(why);
    device_->Abort(why);
    return failure;
  }

 private:
  const std::unique_ptr<Communicator> host_, device_;
  mutable Mutex mu_;
  absl::Status failure_ MUSTER_GUARDED_BY(mu_);
};

class SplitPending final : public Pending {
 public:
  SplitPending(std::shared_ptr<Halves> halves, std::unique_ptr<Pending> pending)
      : halves_(std::move(halves)), pending_(std::move(pending)) {}

  absl::Status Wait() override {
    if (pending_ == nullptr) return result_;
    result_ = pending_->Wait();
    pending_.reset();
    if (!result_.ok()) result_ = halves_->Fail(result_);
    return result_;
  }

 private:
  const std::shared_ptr<Halves> halves_;
  std::unique_ptr<Pending> pending_;  // null once Wait() has returned
  absl::Status result_;
};

class SplitCommunicator final : public Communicator {
 public:
  explicit SplitCommunicator(std::shared_ptr<Halves> halves) : halves_(std::move(halves)) {}

  int rank() const override { return halves_->host().rank(); }
  int size() const override { return halves_->host().size(); }

  std::unique_ptr<Pending> AllReduce(at::Tensor tensor, ReduceOp op,
                                     std::string_view label) override {
    return Issue([&] { return HalfOf(tensor).AllReduce(tensor, op, label); });
  }
  std::unique_ptr<Pending> ReduceScatter(at::Tensor output, at::Tensor input, ReduceOp op,
                                         std::string_view label) override {
    return Issue([&] { return HalfOf(input).ReduceScatter(output, input, op, label); });
  }
  std::unique_ptr<Pending> AllGather(at::Tensor output, at::Tensor input,
                                     std::string_view label) override {
    return Issue([&] { return HalfOf(input).AllGather(output, input, label); });
  }
  std::unique_ptr<Pending> AllToAllV(at::Tensor output, std::vector<int64_t> output_counts,
                                     at::Tensor input, std::vector<int64_t> input_counts,
                                     std::string_view label) override {
    return Issue([&] {
      return HalfOf(input).AllToAllV(output, std::move(output_counts), input,
                                     std::move(input_counts), label);
    });
  }
  std::unique_ptr<Pending> Broadcast(at::Tensor tensor, int root, std::string_view label) override {
    return Issue([&] { return HalfOf(tensor).Broadcast(tensor, root, label); });
  }
  std::unique_ptr<Pending> Send(at::Tensor tensor, int to, std::string_view label) override {
    return Issue([&] { return HalfOf(tensor).Send(tensor, to, label); });
  }
  std::unique_ptr<Pending> Recv(at::Tensor tensor, int from, std::string_view label) override {
    return Issue([&] { return HalfOf(tensor).Recv(tensor, from, label); });
  }
  std::unique_ptr<Pending> Barrier() override {
    return Issue([&] { return halves_->device().Barrier(); });
  }
  bool is_a_queue() const override { return halves_->device().is_a_queue(); }
  void StartMessages() override {
    halves_->host().StartMessages();
    halves_->device().StartMessages();
  }

  void Abort(std::string_view why) override {
    (void)halves_->Fail(absl::AbortedError(std::string(why)));
  }
  std::string DumpFlightRecord() const override {
    return absl::StrCat("on the host:\n", halves_->host().DumpFlightRecord(), "on the device:\n",
                        halves_->device().DumpFlightRecord());
  }

 private:
  Communicator& HalfOf(const at::Tensor& tensor) const {
    return tensor.is_cpu() ? halves_->host() : halves_->device();
  }

  template <typename F>
  std::unique_ptr<Pending> Issue(F&& issue) {
    if (absl::Status failure = halves_->failure(); !failure.ok()) {
      return std::make_unique<Finished>(failure);
    }
    return std::make_unique<SplitPending>(halves_, issue());
  }

  const std::shared_ptr<Halves> halves_;
};

}  // namespace

std::unique_ptr<Communicator> MakeSplitCommunicator(std::unique_ptr<Communicator> host,
                                                    std::unique_ptr<Communicator> device) {
  return std::make_unique<SplitCommunicator>(
      std::make_shared<Halves>(std::move(host), std::move(device)));
}

}  // namespace muster::trainer
