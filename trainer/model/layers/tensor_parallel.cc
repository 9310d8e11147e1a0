#include "trainer/model/layers/tensor_parallel.h"

#include <string_view>
#include <vector>

#include "ATen/ops/empty.h"
#include "torch/csrc/autograd/custom_function.h"
#include "trainer/comm/communication_error.h"
#include "trainer/comm/communicator.h"
#include "trainer/model/sequence_order.h"
#include "trainer/random/element_run.h"

namespace muster::trainer {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The runs of a sequence one after the other, as collectives have them: [ranks, batch, run, width],
// from [batch, ranks * run, width]. Without a copy for a batch of one.
at::Tensor RunsFirst(const at::Tensor& x, int64_t ranks) {
  const int64_t batch = x.size(0), run = x.size(1) / ranks, width = x.size(2);
  return x.view({batch, ranks, run, width}).transpose(0, 1).contiguous();
}

at::Tensor Gather(const at::Tensor& x, Communicator& group) {
  const int64_t ranks = group.size(), batch = x.size(0), run = x.size(1), width = x.size(2);
  const at::Tensor runs = at::empty({ranks, batch, run, width}, x.options());
  ThrowIfError(group.AllGather(runs.view({-1}), x.contiguous().view({-1}), "sequence")->Wait());
  return runs.transpose(0, 1).reshape({batch, ranks * run, width});
}

at::Tensor Reduce(const at::Tensor& x, Communicator& group) {
  const int64_t ranks = group.size();
  const at::Tensor runs = RunsFirst(x.contiguous(), ranks);
  const at::Tensor own = at::empty({x.size(0), x.size(1) / ranks, x.size(2)}, x.options());
  ThrowIfError(
      group.ReduceScatter(own.view({-1}), runs.view({-1}), ReduceOp::kSum, "partial sums")->Wait());
  return own;
}

// Autograd functions keep a pointer to the communicator as a number. It outlives the graph: an
// engine drops its graphs before a round, and with it the communicator, ends.
void Save(AutogradContext& context, Communicator& group) {
  context.saved_data["group"] = reinterpret_cast<int64_t>(&group);
}

Communicator& GroupOf(const AutogradContext& context) {
  return *reinterpret_cast<Communicator*>(context.saved_data.at("group").toInt());
}

class GatherFunction final : public torch::autograd::Function<GatherFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, Communicator* group) {
    Save(*context, *group);
    return Gather(x, *group);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return {Reduce(gradients[0], GroupOf(*context)), at::Tensor()};
  }
};

class ReduceFunction final : public torch::autograd::Function<ReduceFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, Communicator* group) {
    Save(*context, *group);
    return Reduce(x, *group);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return {Gather(gradients[0], GroupOf(*context)), at::Tensor()};
  }
};

}  // namespace

ModelPart PartOf(const MicroBatchContext& context) {
  if (context.axes.tensor == nullptr) return {};
  return {context.axes.tensor->rank(), context.axes.tensor->size()};
}

at::Tensor GatherSequence(const at::Tensor& x, const MicroBatchContext& context) {
  return context.axes.tensor == nullptr ? x : GatherFunction::apply(x, context.axes.tensor);
}

at::Tensor ReduceToSequence(const at::Tensor& x, const MicroBatchContext& context) {
  return context.axes.tensor == nullptr ? x : ReduceFunction::apply(x, context.axes.tensor);
}

at::Tensor OwnRun(const at::Tensor& whole, int64_t dimension, const MicroBatchContext& context) {
  const ModelPart part = PartOf(context);
  const int64_t run = whole.size(dimension) / part.count;
  return whole.narrow(dimension, part.index * run, run);
}

std::vector<ElementRun> RowsOf(int64_t run, const MicroBatchContext& context) {
  const ModelPart part = PartOf(context);
  const Communicator* const ranks = context.axes.context;
  if (ranks == nullptr) return {{part.index * run, run}};
  return SomeOf(RunsOfSequence(context.exchange, ranks->rank(), ranks->size(),
                               run * part.count * ranks->size()),
                part.index * run, run);
}

}  // namespace muster::trainer
