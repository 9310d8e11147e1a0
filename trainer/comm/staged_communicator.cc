#include "trainer/comm/staged_communicator.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ATen/ops/empty.h"
#include "absl/strings/str_cat.h"
#include "c10/util/Exception.h"
#include "trainer/comm/finished.h"

namespace muster::trainer {
namespace {

// A tensor of an operation, and its copy on the host, which is itself for a tensor of the host.
struct Staged {
  at::Tensor tensor, host;
};

// Returns memory of the host for a tensor's elements: pinned for a device, so that copies run at
// the full rate of its bus.
Staged StageFor(const at::Tensor& tensor) {
  if (tensor.is_cpu()) return {tensor, tensor};
  return {
      tensor,
      at::empty(
          tensor.sizes(),
          tensor.options().device(c10::DeviceType::CPU).requires_grad(false).pinned_memory(true))};
}

Staged StageOf(const at::Tensor& tensor) {
  Staged staged = StageFor(tensor);
  if (!tensor.is_cpu()) staged.host.copy_(tensor);
  return staged;
}

// Fails this and every later operation alike.
absl::Status FailAll(Communicator& host, const char* what, const c10::Error& error) {
  const std::string why = absl::StrCat(what, ": ", error.what_without_backtrace());
  host.Abort(why);
  return absl::AbortedError(why);
}

class StagedPending final : public Pending {
 public:
  // `output` is copied back; `kept` only has to live as long as the operation.
  StagedPending(std::shared_ptr<Communicator> host, std::unique_ptr<Pending> pending, Staged output,
                Staged kept)
      : host_(std::move(host)),
        pending_(std::move(pending)),
        output_(std::move(output)),
        kept_(std::move(kept)) {}

  absl::Status Wait() override {
    if (pending_ == nullptr) return result_;
    result_ = pending_->Wait();
    pending_.reset();
    if (result_.ok() && output_.tensor.defined() && !output_.tensor.is_same(output_.host)) {
      try {
        output_.tensor.copy_(output_.host);
      } catch (const c10::Error& e) {
        result_ = FailAll(*host_, "copying to the device", e);
      }
    }
    return result_;
  }

 private:
  const std::shared_ptr<Communicator> host_;
  std::unique_ptr<Pending> pending_;  // null once Wait() has returned
  Staged output_, kept_;
  absl::Status result_;
};

class StagedCommunicator final : public Communicator {
 public:
  explicit StagedCommunicator(std::unique_ptr<Communicator> host) : host_(std::move(host)) {}

  int rank() const override { return host_->rank(); }
  int size() const override { return host_->size(); }

  std::unique_ptr<Pending> AllReduce(at::Tensor tensor, ReduceOp op,
                                     std::string_view label) override {
    return Issue([&] { return Tensors{StageOf(tensor), {}}; },
                 [&](const Tensors& t) { return host_->AllReduce(t.output.host, op, label); });
  }
  std::unique_ptr<Pending> ReduceScatter(at::Tensor output, at::Tensor input, ReduceOp op,
                                         std::string_view label) override {
    return Issue([&] { return Tensors{StageFor(output), StageOf(input)}; },
                 [&](const Tensors& t) {
                   return host_->ReduceScatter(t.output.host, t.input.host, op, label);
                 });
  }
  std::unique_ptr<Pending> AllGather(at::Tensor output, at::Tensor input,
                                     std::string_view label) override {
    return Issue(
        [&] { return Tensors{StageFor(output), StageOf(input)}; },
        [&](const Tensors& t) { return host_->AllGather(t.output.host, t.input.host, label); });
  }
  std::unique_ptr<Pending> AllToAllV(at::Tensor output, std::vector<int64_t> output_counts,
                                     at::Tensor input, std::vector<int64_t> input_counts,
                                     std::string_view label) override {
    return Issue([&] { return Tensors{StageFor(output), StageOf(input)}; },
                 [&](const Tensors& t) {
                   return host_->AllToAllV(t.output.host, std::move(output_counts), t.input.host,
                                           std::move(input_counts), label);
                 });
  }
  std::unique_ptr<Pending> Broadcast(at::Tensor tensor, int root, std::string_view label) override {
    return Issue([&] { return Tensors{root == rank() ? StageOf(tensor) : StageFor(tensor), {}}; },
                 [&](const Tensors& t) { return host_->Broadcast(t.output.host, root, label); });
  }
  std::unique_ptr<Pending> Send(at::Tensor tensor, int to, std::string_view label) override {
    return Issue([&] { return Tensors{{}, StageOf(tensor)}; },
                 [&](const Tensors& t) { return host_->Send(t.input.host, to, label); });
  }
  std::unique_ptr<Pending> Recv(at::Tensor tensor, int from, std::string_view label) override {
    return Issue([&] { return Tensors{StageFor(tensor), {}}; },
                 [&](const Tensors& t) { return host_->Recv(t.output.host, from, label); });
  }
  std::unique_ptr<Pending> Barrier() override { return host_->Barrier(); }
  bool is_a_queue() const override { return host_->is_a_queue(); }
  void StartMessages() override { host_->StartMessages(); }

  void Abort(std::string_view why) override { host_->Abort(why); }
  std::string DumpFlightRecord() const override { return host_->DumpFlightRecord(); }

 private:
  struct Tensors {
    Staged output, input;
  };

  // Runs `stage`, which may find the device broken, and then `issue`.
  std::unique_ptr<Pending> Issue(
      const std::function<Tensors()>& stage,
      const std::function<std::unique_ptr<Pending>(const Tensors&)>& issue) {
    Tensors tensors;
    try {
      tensors = stage();
    } catch (const c10::Error& e) {
      return std::make_unique<Finished>(FailAll(*host_, "copying from the device", e));
    }
    auto pending = issue(tensors);
    return std::make_unique<StagedPending>(host_, std::move(pending), std::move(tensors.output),
                                           std::move(tensors.input));
  }

  const std::shared_ptr<Communicator> host_;
};

}  // namespace

std::unique_ptr<Communicator> MakeStagedCommunicator(std::unique_ptr<Communicator> host) {
  return std::make_unique<StagedCommunicator>(std::move(host));
}

}  // namespace muster::trainer
