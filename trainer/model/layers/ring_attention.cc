#include "trainer/model/layers/ring_attention.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "ATen/TensorOperators.h"
#include "ATen/core/ivalue.h"
#include "ATen/ops/_fused_sdp_choice.h"
#include "ATen/ops/_scaled_dot_product_flash_attention.h"
#include "ATen/ops/_scaled_dot_product_flash_attention_backward.h"
#include "ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h"
#include "ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h"
#include "ATen/ops/cat.h"
#include "ATen/ops/empty.h"
#include "ATen/ops/empty_like.h"
#include "ATen/ops/logaddexp.h"
#include "ATen/ops/logsumexp.h"
#include "ATen/ops/matmul.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/stack.h"
#include "ATen/ops/zeros.h"
#include "torch/csrc/autograd/custom_function.h"
#include "trainer/comm/communication_error.h"
#include "trainer/comm/communicator.h"
#include "trainer/model/layers/tensor_parallel.h"
#include "trainer/model/sequence_order.h"
#include "trainer/random/element_run.h"

namespace muster::trainer {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::ScalarType WideType(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

// Some queries and some keys, [batch, heads, number, head width].
struct Piece {
  at::Tensor queries, keys, values;
  at::Tensor bias;  // [1, heads, queries, keys], in the wide type; undefined if scores have no bias
  at::Tensor mask;  // of dropout, [batch, heads, queries, keys]; undefined: nothing is dropped
  bool causal = false;  // query i sees the keys up to i; a bias hides the others itself

  double scale() const { return 1.0 / std::sqrt(static_cast<double>(queries.size(3))); }
};

struct Attended {
  at::Tensor output;   // [batch, heads, queries, head width]
  at::Tensor log_sum;  // of the exponentials of a query's scores: [batch, heads, queries], wide
};

struct PieceGradients {
  at::Tensor queries, keys, values;  // keys and values have as many heads as queries
};

// The number that LibTorch gives to flash attention among its kernels (sdp::SDPBackend).
constexpr int64_t kFlashKernel = 1;

// Returns true if a flash kernel can compute the piece. Kernels on GPUs take no bias, and no kernel
// takes our dropout masks.
bool HasFlashKernel(const Piece& piece) {
  if (piece.mask.defined()) return false;
  if (piece.queries.is_cpu()) return true;
  // LibTorch pads other head widths itself where it chooses a kernel, and not here.
  if (!piece.queries.is_cuda() || piece.bias.defined() || piece.queries.size(3) % 8 != 0) {
    return false;
  }
  return at::_fused_sdp_choice(piece.queries, piece.keys, piece.values, {}, 0.0, piece.causal, {},
                               false) == kFlashKernel;
}

at::Tensor ScoresOf(const Piece& piece) {
  at::Tensor scores = at::matmul(piece.queries * piece.scale(), piece.keys.transpose(-1, -2));
  scores = scores.to(WideType(piece.queries));
  if (piece.bias.defined()) return scores.add_(piece.bias);
  if (!piece.causal) return scores;
  const at::Tensor future =
      at::ones({scores.size(2), scores.size(3)}, scores.options().dtype(at::kBool)).triu(1);
  return scores.masked_fill_(future, -std::numeric_limits<double>::infinity());
}

Attended Forward(const Piece& piece) {
  const bool causal = piece.causal && !piece.bias.defined();
  if (!HasFlashKernel(piece)) {
    const at::Tensor scores = ScoresOf(piece);
    const at::Tensor log_sum = at::logsumexp(scores, -1);
    at::Tensor probabilities = scores.sub(log_sum.unsqueeze(-1)).exp_();
    if (piece.mask.defined()) probabilities.mul_(piece.mask);
    return {at::matmul(probabilities.to(piece.values.scalar_type()), piece.values), log_sum};
  }
  if (piece.queries.is_cpu()) {
    auto [output, log_sum] = at::_scaled_dot_product_flash_attention_for_cpu(
        piece.queries, piece.keys, piece.values, 0.0, causal,
        piece.bias.defined() ? std::optional<at::Tensor>(piece.bias) : std::nullopt, piece.scale());
    return {output, log_sum};
  }
  auto attended =
      at::_scaled_dot_product_flash_attention(piece.queries, piece.keys, piece.values, 0.0, causal,
                                              /*return_debug_mask=*/false, piece.scale());
  return {std::get<0>(attended), std::get<1>(attended)};
}

// Returns what this piece adds to the gradients. `whole` is the result of these queries for the
// keys of all pieces, and `gradient` is the gradient of that result. With the logarithm of the
// whole, exp(score - whole.log_sum) is a key's probability among all keys, so the pieces' gradients
// simply add up (Dao, 2023, "FlashAttention-2", algorithm 2; `delta` is its D).
PieceGradients Backward(const Piece& piece, const at::Tensor& gradient, const Attended& whole) {
  const bool causal = piece.causal && !piece.bias.defined();
  if (!HasFlashKernel(piece)) {
    const at::ScalarType type = piece.values.scalar_type(), wide = WideType(piece.queries);
    const at::Tensor p = ScoresOf(piece).sub_(whole.log_sum.unsqueeze(-1)).exp_();
    const at::Tensor kept = piece.mask.defined() ? p * piece.mask : p;
    at::Tensor dp = at::matmul(gradient, piece.values.transpose(-1, -2)).to(wide);
    if (piece.mask.defined()) dp.mul_(piece.mask);
    const at::Tensor delta = gradient.to(wide).mul(whole.output).sum(-1, /*keepdim=*/true);
    const at::Tensor ds = p.mul(dp.sub_(delta)).mul_(piece.scale()).to(type);
    return {at::matmul(ds, piece.keys), at::matmul(ds.transpose(-1, -2), piece.queries),
            at::matmul(kept.to(type).transpose(-1, -2), gradient)};
  }
  if (piece.queries.is_cpu()) {
    auto [queries, keys, values] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
        gradient, piece.queries, piece.keys, piece.values, whole.output, whole.log_sum, 0.0, causal,
        piece.bias.defined() ? std::optional<at::Tensor>(piece.bias) : std::nullopt, piece.scale());
    return {queries, keys, values};
  }
  const at::Tensor none = at::empty({0}, piece.queries.options().dtype(at::kLong));
  auto [queries, keys, values] = at::_scaled_dot_product_flash_attention_backward(
      gradient, piece.queries, piece.keys, piece.values, whole.output, whole.log_sum,
      /*cum_seq_q=*/{}, /*cum_seq_k=*/{}, piece.queries.size(2), piece.keys.size(2), 0.0, causal,
      /*philox_seed=*/none, /*philox_offset=*/none, piece.scale());
  return {queries, keys, values};
}

// One rank's place in the ring, for one attention. An autograd function keeps it from its forward
// to its backward pass. The communicator outlives the graph (see tensor_parallel.cc).
class Ring final : public torch::CustomClassHolder {
 public:
  Ring(const AttentionInputs& inputs, const DropoutPlace& dropout, const MicroBatchContext& context)
      : context_(context),
        dropout_(dropout),
        alibi_(inputs.alibi),
        group_(*context.axes.context),
        ranks_(group_.size()),
        heads_(inputs.queries.size(1)),
        sequence_(inputs.queries.size(2)) {}

  Attended Forward(const at::Tensor& queries, const at::Tensor& own_pairs) const {
    const at::Tensor mask = Mask(queries);
    Attended sum;
    at::Tensor pairs = own_pairs;
    for (int turn = 0; turn < ranks_; ++turn) {
      Message next = PassOn(pairs, turn, "keys");
      const Turn now = At(turn);
      Attended piece = trainer::Forward(PieceOf(now, queries, pairs, mask));
      if (turn == 0) {
        sum = {piece.output.to(WideType(queries)), piece.log_sum};
      } else {
        Merge(Rows(sum.output, now.queries), Rows(sum.log_sum, now.queries), piece);
      }
      pairs = next.Arrive(pairs);
    }
    return {sum.output.to(queries.scalar_type()), sum.log_sum};
  }

  // Returns the gradients of the queries and of this rank's pairs of keys and values. The gradients
  // of pairs are one turn behind them, and so come home with the last message.
  std::pair<at::Tensor, at::Tensor> Backward(const at::Tensor& gradient, const at::Tensor& queries,
                                             const at::Tensor& own_pairs,
                                             const Attended& whole) const {
    const at::Tensor mask = Mask(queries);
    const auto wide = queries.options().dtype(WideType(queries));
    const at::Tensor of_queries = at::zeros(queries.sizes(), wide);
    at::Tensor pairs = own_pairs, of_pairs = at::zeros(own_pairs.sizes(), wide);
    Message gradients_on_their_way;
    for (int turn = 0; turn < ranks_; ++turn) {
      Message next = PassOn(pairs, turn, "keys");
      const Turn now = At(turn);
      const PieceGradients piece = trainer::Backward(
          PieceOf(now, queries, pairs, mask), Rows(gradient, now.queries).contiguous(),
          {Rows(whole.output, now.queries).contiguous(),
           Rows(whole.log_sum, now.queries).contiguous()});
      of_pairs = gradients_on_their_way.Arrive(of_pairs);
      Rows(of_queries, now.queries).add_(piece.queries);
      const int64_t shared = pairs.size(2);
      Rows(of_pairs.select(0, 0), now.keys).add_(SumShared(piece.keys, shared, wide));
      Rows(of_pairs.select(0, 1), now.keys).add_(SumShared(piece.values, shared, wide));
      pairs = next.Arrive(pairs);
      gradients_on_their_way = Start(of_pairs, "gradients of keys");
    }
    return {of_queries, gradients_on_their_way.Arrive(of_pairs)};
  }

 private:
  // The queries and the keys, numbered within their ranks' sequences, that a turn brings together.
  struct Turn {
    int source = 0;  // the rank whose keys are here
    ElementRun queries, keys;
    bool causal = false;
  };
  // A message on its way to this rank. An exception that passes waits for it, because the memory on
  // both sides must stay until then.
  class Message {
   public:
    Message() = default;
    Message(at::Tensor received, std::unique_ptr<Pending> pending)
        : received_(std::move(received)), pending_(std::move(pending)) {}
    Message(Message&&) = default;
    Message& operator=(Message&&) = default;
    ~Message() {
      if (pending_ != nullptr) (void)pending_->Wait();
    }
    // Waits for what is on its way and returns it, or `otherwise` if nothing is.
    at::Tensor Arrive(const at::Tensor& otherwise) {
      if (pending_ == nullptr) return otherwise;
      ThrowIfError(std::exchange(pending_, nullptr)->Wait());
      return received_;
    }

   private:
    at::Tensor received_;
    std::unique_ptr<Pending> pending_;  // null: nothing is on its way
  };

  // A rank's first run is early and its second late. To this rank's queries the early keys of
  // earlier ranks are past, and their late ones future; of the keys of later ranks all are past to
  // its late queries, and future to its early ones.
  Turn At(int turn) const {
    const int rank = group_.rank(), source = (rank - turn + ranks_) % ranks_;
    const ElementRun all{0, sequence_}, early{0, sequence_ / 2}, late{sequence_ / 2, sequence_ / 2};
    if (source == rank) return {source, all, all, /*causal=*/true};
    if (source < rank) return {source, all, early};
    return {source, late, all};
  }

  static at::Tensor Rows(const at::Tensor& x, const ElementRun& run) {
    return x.narrow(2, run.begin, run.count);
  }

  Piece PieceOf(const Turn& turn, const at::Tensor& queries, const at::Tensor& pairs,
                const at::Tensor& mask) const {
    Piece piece{.queries = Rows(queries, turn.queries),
                .keys = RepeatHeads(Rows(pairs.select(0, 0), turn.keys), heads_),
                .values = RepeatHeads(Rows(pairs.select(0, 1), turn.keys), heads_),
                .causal = turn.causal};
    const at::Tensor keys = PositionsOf(turn.source).narrow(0, turn.keys.begin, turn.keys.count);
    if (alibi_ != nullptr) {
      const at::Tensor own = context_.positions.narrow(0, turn.queries.begin, turn.queries.count);
      piece.bias =
          alibi_->Between(own, keys, {PartOf(context_).index * heads_, heads_}, WideType(queries));
    }
    if (mask.defined()) piece.mask = Rows(mask, turn.queries).index_select(3, keys);
    return piece;
  }

  at::Tensor PositionsOf(int rank) const {
    return context_.all_positions.narrow(0, rank * sequence_, sequence_);
  }

  // The mask of this rank's queries for all keys, by position: undefined if nothing is dropped.
  at::Tensor Mask(const at::Tensor& queries) const {
    if (!Drops(dropout_.probability, context_)) return {};
    const int64_t whole = sequence_ * ranks_;
    std::vector<ElementRun> runs;
    for (int64_t head = 0; head < heads_; ++head) {
      const int64_t before = (PartOf(context_).index * heads_ + head) * whole;
      for (const ElementRun& rows :
           RunsOfSequence(ContextExchange::kRing, group_.rank(), ranks_, whole)) {
        runs.push_back({(before + rows.begin) * whole, rows.count * whole});
      }
    }
    const at::Tensor scores =
        at::empty({1}, queries.options()).expand({queries.size(0), heads_, sequence_, whole});
    return DropoutMask(scores, runs, dropout_, context_);
  }

  // Sends what is here to the next rank, and receives what the rank before has: one collective, so
  // that no rank waits for another to begin.
  Message Start(const at::Tensor& here, const char* label) const {
    const auto n = static_cast<size_t>(ranks_);
    std::vector<int64_t> from(n), to(n);
    from[static_cast<size_t>((group_.rank() + ranks_ - 1) % ranks_)] = here.numel();
    to[static_cast<size_t>((group_.rank() + 1) % ranks_)] = here.numel();
    const at::Tensor received = at::empty_like(here);
    return {received, group_.AllToAllV(received.view({-1}), std::move(from), here.view({-1}),
                                       std::move(to), label)};
  }
  Message PassOn(const at::Tensor& pairs, int turn, const char* label) const {
    return turn + 1 == ranks_ ? Message{} : Start(pairs, label);
  }

  // Adds what some keys contribute to the rows of a result.
  static void Merge(const at::Tensor& output, const at::Tensor& log_sum, const Attended& piece) {
    const at::Tensor both = at::logaddexp(log_sum, piece.log_sum);
    output.mul_(log_sum.sub(both).exp_().unsqueeze(-1))
        .add_(piece.output.mul(piece.log_sum.sub(both).exp_().unsqueeze(-1)));
    log_sum.copy_(both);
  }

  // Adds up the gradients of a head for the heads of queries that share it.
  static at::Tensor SumShared(const at::Tensor& x, int64_t heads, const at::TensorOptions& wide) {
    if (x.size(1) == heads) return x;
    return x.to(wide.dtype())
        .view({x.size(0), heads, x.size(1) / heads, x.size(2), x.size(3)})
        .sum(2);
  }

  const MicroBatchContext context_;
  const DropoutPlace dropout_;
  const std::shared_ptr<AlibiTable> alibi_;
  Communicator& group_;
  const int ranks_;
  const int64_t heads_, sequence_;  // of this rank
};

class RingFunction final : public torch::autograd::Function<RingFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& queries,
                            const at::Tensor& keys, const at::Tensor& values,
                            const c10::intrusive_ptr<Ring>& ring) {
    const at::Tensor own_queries = queries.contiguous(), pairs = at::stack({keys, values});
    const Attended attended = ring->Forward(own_queries, pairs);
    context->save_for_backward({own_queries, pairs, attended.output, attended.log_sum});
    context->saved_data["ring"] = c10::IValue::make_capsule(ring);
    return attended.output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const auto ring =
        c10::static_intrusive_pointer_cast<Ring>(context->saved_data.at("ring").toCapsule());
    const auto [queries, pairs] =
        ring->Backward(gradients[0], saved[0], saved[1], {saved[2], saved[3]});
    const at::ScalarType type = saved[0].scalar_type();
    return {queries.to(type), pairs.select(0, 0).to(type), pairs.select(0, 1).to(type),
            at::Tensor()};
  }
};

}  // namespace

at::Tensor RepeatHeads(const at::Tensor& x, int64_t heads) {
  const int64_t own = x.size(1);
  if (own == heads) return x;
  return x.unsqueeze(2)
      .expand({x.size(0), own, heads / own, x.size(2), x.size(3)})
      .reshape({x.size(0), heads, x.size(2), x.size(3)});
}

at::Tensor RingAttend(const AttentionInputs& inputs, const DropoutPlace& dropout,
                      const MicroBatchContext& context) {
  return RingFunction::apply(inputs.queries, inputs.keys, inputs.values,
                             c10::make_intrusive<Ring>(inputs, dropout, context));
}

}  // namespace muster::trainer
