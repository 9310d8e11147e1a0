#include "tests/parity/matrix/sudden_end.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "trainer/engine/testing/forwarding_communicator.h"

namespace muster::trainer {
namespace {

class WatchedBlock final : public Block {
 public:
  WatchedBlock(std::unique_ptr<Block> inner, SuddenEnd& end)
      : inner_(std::move(inner)), end_(end) {}
  std::string name() const override { return inner_->name(); }
  const std::vector<ParameterSpec>& parameters() const override { return inner_->parameters(); }
  void Bind(std::vector<at::Tensor> views) override { inner_->Bind(std::move(views)); }
  BlockOutput Forward(std::vector<at::Tensor> inputs, const MicroBatchContext& context) override {
    if (context.training) end_.Pass();
    BlockOutput output = inner_->Forward(std::move(inputs), context);
    if (context.training && output.tensors[0].requires_grad()) {
      output.tensors[0].register_hook([this](const at::Tensor&) { end_.Pass(); });
    }
    return output;
  }
  int64_t cost() const override { return inner_->cost(); }
  bool divides_sequence() const override { return inner_->divides_sequence(); }
  bool can_split_backward() const override { return inner_->can_split_backward(); }

 private:
  const std::unique_ptr<Block> inner_;
  SuddenEnd& end_;
};

class WatchedPending final : public Pending {
 public:
  WatchedPending(std::unique_ptr<Pending> inner, SuddenEnd& end)
      : inner_(std::move(inner)), end_(end) {}
  absl::Status Wait() override {
    const absl::Status status = inner_->Wait();
    end_.Pass();
    return status;
  }

 private:
  const std::unique_ptr<Pending> inner_;
  SuddenEnd& end_;
};

struct Owner {
  std::unique_ptr<Communicator> owned;
};

class WatchedCommunicator final : private Owner, public ForwardingCommunicator {
 public:
  WatchedCommunicator(std::unique_ptr<Communicator> inner, SuddenEnd& end)
      : Owner{std::move(inner)}, ForwardingCommunicator(*owned), end_(end) {}
  std::unique_ptr<Pending> AllReduce(at::Tensor tensor, ReduceOp op,
                                     std::string_view label) override {
    end_.Pass();
    return Watch(ForwardingCommunicator::AllReduce(std::move(tensor), op, label));
  }
  std::unique_ptr<Pending> ReduceScatter(at::Tensor output, at::Tensor input, ReduceOp op,
                                         std::string_view label) override {
    end_.Pass();
    return Watch(
        ForwardingCommunicator::ReduceScatter(std::move(output), std::move(input), op, label));
  }
  std::unique_ptr<Pending> AllGather(at::Tensor output, at::Tensor input,
                                     std::string_view label) override {
    end_.Pass();
    return Watch(ForwardingCommunicator::AllGather(std::move(output), std::move(input), label));
  }
  std::unique_ptr<Pending> AllToAllV(at::Tensor output, std::vector<int64_t> output_counts,
                                     at::Tensor input, std::vector<int64_t> input_counts,
                                     std::string_view label) override {
    end_.Pass();
    return Watch(ForwardingCommunicator::AllToAllV(std::move(output), std::move(output_counts),
                                                   std::move(input), std::move(input_counts),
                                                   label));
  }

 private:
  std::unique_ptr<Pending> Watch(std::unique_ptr<Pending> pending) {
    return std::make_unique<WatchedPending>(std::move(pending), end_);
  }

  SuddenEnd& end_;
};

class WatchedConnector final : public RoundConnector {
 public:
  WatchedConnector(std::unique_ptr<RoundConnector> inner, SuddenEnd& end)
      : inner_(std::move(inner)), end_(end) {}
  absl::StatusOr<std::unique_ptr<Communicator>> Connect() override {
    MUSTER_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> communicator, inner_->Connect());
    return std::make_unique<WatchedCommunicator>(std::move(communicator), end_);
  }
  void Abort(std::string_view why) override { inner_->Abort(why); }

 private:
  const std::unique_ptr<RoundConnector> inner_;
  SuddenEnd& end_;
};

}  // namespace

void SuddenEnd::StepBegins(int64_t step) {
  if (step != step_) passed_before_ = std::exchange(passed_, 0);
  step_ = step;
  Pass();
}

void SuddenEnd::Pass() {
  const auto at = static_cast<int64_t>(moment_.place * static_cast<double>(passed_before_));
  if (step_ > moment_.step || (step_ == moment_.step && passed_ >= at)) inbox_.Close();
  ++passed_;
}

absl::StatusOr<MicroBatch> EndingFeed::Training(const MicroBatchPosition& place) {
  end_.StepBegins(place.consumed / kToyBatch + 1);
  return GrammarFeed::Training(place);
}

Model Watched(Model model, SuddenEnd& end) {
  for (std::unique_ptr<Block>& block : model.blocks) {
    block = std::make_unique<WatchedBlock>(std::move(block), end);
  }
  return model;
}

std::unique_ptr<RoundConnector> EndingNetwork::MakeConnector(const GroupPlace& place,
                                                             const std::string& store) {
  return std::make_unique<WatchedConnector>(inner_.MakeConnector(place, store), end_);
}

}  // namespace muster::trainer
