#include "trainer/engine/solo_communicator.h"

#include <atomic>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::trainer {
namespace {

class Done final : public Pending {
 public:
  explicit Done(absl::Status status) : status_(std::move(status)) {}
  absl::Status Wait() override { return status_; }

 private:
  const absl::Status status_;
};

class SoloCommunicator final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }

  std::unique_ptr<Pending> AllReduce(at::Tensor, ReduceOp, std::string_view) override {
    return Finish();
  }
  std::unique_ptr<Pending> ReduceScatter(at::Tensor output, at::Tensor input, ReduceOp,
                                         std::string_view) override {
    return Copy(output, input);
  }
  std::unique_ptr<Pending> AllGather(at::Tensor output, at::Tensor input,
                                     std::string_view) override {
    return Copy(output, input);
  }
  std::unique_ptr<Pending> AllToAllV(at::Tensor output, std::vector<int64_t>, at::Tensor input,
                                     std::vector<int64_t>, std::string_view) override {
    return Copy(output, input);
  }
  std::unique_ptr<Pending> Broadcast(at::Tensor, int, std::string_view) override {
    return Finish();
  }
  std::unique_ptr<Pending> Send(at::Tensor, int to, std::string_view) override {
    return NoPeer(to);
  }
  std::unique_ptr<Pending> Recv(at::Tensor, int from, std::string_view) override {
    return NoPeer(from);
  }
  std::unique_ptr<Pending> Barrier() override { return Finish(); }
  void Abort(std::string_view) override { aborted_ = true; }
  std::string DumpFlightRecord() const override { return ""; }

 private:
  std::unique_ptr<Pending> Finish() const {
    return std::make_unique<Done>(aborted_ ? absl::AbortedError("communicator aborted")
                                           : absl::OkStatus());
  }
  std::unique_ptr<Pending> Copy(const at::Tensor& output, const at::Tensor& input) const {
    if (!aborted_) output.copy_(input);
    return Finish();
  }
  static std::unique_ptr<Pending> NoPeer(int peer) {
    return std::make_unique<Done>(
        absl::InvalidArgumentError(absl::StrCat("rank ", peer, " is not in a world of one")));
  }

  std::atomic<bool> aborted_ = false;
};

}  // namespace

std::unique_ptr<Communicator> MakeSoloCommunicator() {
  return std::make_unique<SoloCommunicator>();
}

}  // namespace muster::trainer
