#include "trainer/model/layers/attention.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "ATen/TensorOperators.h"
#include "ATen/ops/empty.h"
#include "ATen/ops/empty_like.h"
#include "ATen/ops/matmul.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/scaled_dot_product_attention.h"
#include "ATen/ops/softmax.h"
#include "torch/csrc/autograd/custom_function.h"
#include "trainer/comm/communication_error.h"
#include "trainer/comm/communicator.h"
#include "trainer/kernels/kernels.h"
#include "trainer/model/layers/ring_attention.h"
#include "trainer/model/layers/tensor_parallel.h"
#include "trainer/model/sequence_order.h"
#include "trainer/random/element_run.h"

namespace muster::trainer {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Returns the parts of packed heads as views, whose gradients are put together again in one pass
// over memory, on a device with a kernel for it.
class SplitFunction final : public torch::autograd::Function<SplitFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& packed, int64_t batch,
                               int64_t heads, bool by_head) {
    context->saved_data["sizes"] = packed.sizes();
    context->saved_data["by_head"] = by_head;
    return Parts(packed, batch, heads, by_head);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::Tensor packed = LayersOf(gradients[0])
                                  ->PackHeads(gradients[0], gradients[1], gradients[2],
                                              context->saved_data["by_head"].toBool());
    const std::vector<int64_t> sizes = context->saved_data["sizes"].toIntVector();
    return {packed.view(sizes), at::Tensor(), at::Tensor(), at::Tensor()};
  }

  static variable_list Parts(const at::Tensor& packed, int64_t batch, int64_t heads, bool by_head) {
    const int64_t sequence = packed.size(0) / batch, width = packed.size(1) / (3 * heads);
    return by_head
               ? packed.view({batch, sequence, heads, 3, width}).permute({3, 0, 2, 1, 4}).unbind(0)
               : packed.view({batch, sequence, 3, heads, width}).permute({2, 0, 3, 1, 4}).unbind(0);
  }
};

c10::ScalarType TypeOfScores(const at::Tensor& queries) {
  return queries.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

// The type of a bias beside these queries: that of the scores, which is wider than theirs, but
// theirs on a GPU, whose kernels take a bias for numbers of that type whatever it is.
c10::ScalarType BiasType(const at::Tensor& queries) {
  return queries.is_cuda() ? queries.scalar_type() : TypeOfScores(queries);
}

// Attention over whole sequences, with some of the model's heads.
struct WholeSequences {
  at::Tensor queries, keys, values;
  at::Tensor bias;  // [1, heads, sequence, sequence], which hides the future; undefined: none
  int64_t first_head = 0;
};

// Writes the probabilities out, because the flash kernel cannot use FillDropout's masks.
at::Tensor AttendWithDropout(const WholeSequences& in, const DropoutPlace& dropout,
                             const MicroBatchContext& context) {
  const int64_t heads = in.queries.size(1), sequence = in.queries.size(2);
  const double scale = 1.0 / std::sqrt(static_cast<double>(in.queries.size(3)));
  at::Tensor scores = at::matmul(in.queries * scale, in.keys.transpose(-1, -2));
  scores = scores.to(TypeOfScores(in.queries));
  if (in.bias.defined()) {
    scores = scores + in.bias;
  } else {
    const at::Tensor future =
        at::ones({sequence, sequence}, in.queries.options().dtype(at::kBool)).triu(1);
    scores = scores.masked_fill(future, -std::numeric_limits<double>::infinity());
  }
  const at::Tensor probabilities = at::softmax(scores, -1);
  const int64_t of_head = sequence * sequence;
  const ElementRun run{in.first_head * of_head, heads * of_head};
  const at::Tensor kept = probabilities * DropoutMask(probabilities, {&run, 1}, dropout, context);
  return at::matmul(kept.to(in.values.scalar_type()), in.values);
}

at::Tensor AttendToWhole(const WholeSequences& in, const DropoutPlace& dropout,
                         const MicroBatchContext& context) {
  const int64_t heads = in.queries.size(1);
  const bool drops = Drops(dropout.probability, context);
  // The flash kernel of GPUs, which is for types of two bytes, reads shared heads where they lie.
  // The kernels for other types want equal numbers of heads; without them GPUs would write scores
  // out.
  const bool shared =
      in.queries.is_cuda() && in.queries.itemsize() == 2 && !drops && in.keys.size(1) != heads;
  WholeSequences equal = in;
  if (!shared) {
    equal.keys = RepeatHeads(in.keys, heads);
    equal.values = RepeatHeads(in.values, heads);
  }
  if (drops) return AttendWithDropout(equal, dropout, context);
  const std::optional<at::Tensor> bias =
      in.bias.defined() ? std::optional<at::Tensor>(in.bias) : std::nullopt;
  return at::scaled_dot_product_attention(in.queries, equal.keys, equal.values, bias, 0.0,
                                          /*is_causal=*/!bias.has_value(), {}, shared);
}

// Exchanges equal parts: [ranks, ...], by rank.
at::Tensor AllToAll(const at::Tensor& sent, Communicator& group) {
  const at::Tensor received = at::empty_like(sent);
  const std::vector<int64_t> counts(static_cast<size_t>(group.size()), sent[0].numel());
  ThrowIfError(
      group.AllToAllV(received.view({-1}), counts, sent.view({-1}), counts, "heads")->Wait());
  return received;
}

// Sends each rank of a group its heads of this rank's run of the sequence, and returns this rank's
// heads of the whole: [batch, heads / ranks, ranks * run, width] of each tensor, from [batch,
// heads, run, width].
variable_list ToHeads(const variable_list& runs, Communicator& group) {
  const int64_t ranks = group.size(), batch = runs[0].size(0), run = runs[0].size(2),
                width = runs[0].size(3);
  int64_t heads = 0;
  for (const at::Tensor& x : runs) heads += x.size(1) / ranks;
  const at::Tensor sent = at::empty({ranks, batch, heads, run, width}, runs[0].options());
  int64_t before = 0;
  for (const at::Tensor& x : runs) {
    const int64_t own = x.size(1) / ranks;
    sent.narrow(2, before, own).copy_(x.reshape({batch, ranks, own, run, width}).transpose(0, 1));
    before += own;
  }
  const at::Tensor received = AllToAll(sent, group);
  variable_list out;
  before = 0;
  for (const at::Tensor& x : runs) {
    const int64_t own = x.size(1) / ranks;
    out.push_back(received.narrow(2, before, own)
                      .permute({1, 2, 0, 3, 4})
                      .reshape({batch, own, ranks * run, width}));
    before += own;
  }
  return out;
}

// Undoes ToHeads().
variable_list ToRuns(const variable_list& heads, Communicator& group) {
  const int64_t ranks = group.size(), batch = heads[0].size(0), run = heads[0].size(2) / ranks,
                width = heads[0].size(3);
  int64_t all = 0;
  for (const at::Tensor& x : heads) all += x.size(1);
  const at::Tensor sent = at::empty({ranks, batch, all, run, width}, heads[0].options());
  int64_t before = 0;
  for (const at::Tensor& x : heads) {
    sent.narrow(2, before, x.size(1))
        .copy_(x.reshape({batch, x.size(1), ranks, run, width}).permute({2, 0, 1, 3, 4}));
    before += x.size(1);
  }
  const at::Tensor received = AllToAll(sent, group);
  variable_list out;
  before = 0;
  for (const at::Tensor& x : heads) {
    out.push_back(received.narrow(2, before, x.size(1))
                      .transpose(0, 1)
                      .reshape({batch, ranks * x.size(1), run, width}));
    before += x.size(1);
  }
  return out;
}

// The communicator outlives the graph (see tensor_parallel.cc).
class HeadsFunction final : public torch::autograd::Function<HeadsFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& queries,
                               const at::Tensor& keys, const at::Tensor& values,
                               Communicator* group) {
    context->saved_data["group"] = reinterpret_cast<int64_t>(group);
    return ToHeads({queries, keys, values}, *group);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    auto* group = reinterpret_cast<Communicator*>(context->saved_data.at("group").toInt());
    variable_list runs = ToRuns(gradients, *group);
    runs.emplace_back();
    return runs;
  }
};

class RunsFunction final : public torch::autograd::Function<RunsFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, Communicator* group) {
    context->saved_data["group"] = reinterpret_cast<int64_t>(group);
    return ToRuns({x}, *group)[0];
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    auto* group = reinterpret_cast<Communicator*>(context->saved_data.at("group").toInt());
    return {ToHeads(gradients, *group)[0], at::Tensor()};
  }
};

at::Tensor AttendByHeads(const AttentionInputs& inputs, const DropoutPlace& dropout,
                         const MicroBatchContext& context) {
  Communicator& group = *context.axes.context;
  const int64_t ranks = group.size(), heads = inputs.queries.size(1);
  TORCH_CHECK_VALUE(heads % ranks == 0, "a context axis of ", ranks, " ranks cannot share ", heads,
                    " heads of attention");
  // If the ranks cannot divide the heads of keys, these are repeated until they can.
  const int64_t of_keys = std::lcm(inputs.keys.size(1), ranks);
  const variable_list parts =
      HeadsFunction::apply(inputs.queries, RepeatHeads(inputs.keys, of_keys),
                           RepeatHeads(inputs.values, of_keys), &group);
  WholeSequences whole{
      .queries = parts[0],
      .keys = parts[1],
      .values = parts[2],
      .bias = {},
      .first_head = (PartOf(context).index * ranks + group.rank()) * (heads / ranks)};
  if (inputs.alibi != nullptr) {
    whole.bias = inputs.alibi->For(context.all_positions, {whole.first_head, heads / ranks},
                                   BiasType(inputs.queries));
  }
  return RunsFunction::apply(AttendToWhole(whole, dropout, context), &group);
}

at::Tensor AttendHere(const AttentionInputs& inputs, const DropoutPlace& dropout,
                      const MicroBatchContext& context) {
  const int64_t heads = inputs.queries.size(1);
  WholeSequences whole{.queries = inputs.queries,
                       .keys = inputs.keys,
                       .values = inputs.values,
                       .bias = {},
                       .first_head = PartOf(context).index * heads};
  if (inputs.alibi != nullptr) {
    whole.bias =
        inputs.alibi->For(context.positions, {whole.first_head, heads}, BiasType(inputs.queries));
  }
  return AttendToWhole(whole, dropout, context);
}

}  // namespace

AttentionInputs SplitHeads(const at::Tensor& packed, int64_t batch, int64_t heads,
                           HeadOrder order) {
  const bool by_head = order == HeadOrder::kByHead;
  const variable_list parts = LayersOf(packed) != nullptr
                                  ? SplitFunction::apply(packed, batch, heads, by_head)
                                  : SplitFunction::Parts(packed, batch, heads, by_head);
  return {.queries = parts[0], .keys = parts[1], .values = parts[2], .alibi = {}};
}

at::Tensor Attend(const AttentionInputs& inputs, const DropoutPlace& dropout,
                  const MicroBatchContext& context) {
  const auto attend = context.axes.context == nullptr              ? AttendHere
                      : context.exchange == ContextExchange::kRing ? RingAttend
                                                                   : AttendByHeads;
  const at::Tensor o = attend(inputs, dropout, context);
  return o.transpose(1, 2).reshape({o.size(0) * o.size(2), o.size(1) * o.size(3)});
}

}  // namespace muster::trainer
