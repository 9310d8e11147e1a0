#include "trainer/model/layers/head_loss.h"

#include <algorithm>
#include <cstdint>

#include "ATen/ops/_softmax.h"
#include "ATen/ops/empty.h"
#include "ATen/ops/zeros.h"
#include "c10/core/GradMode.h"
#include "c10/util/Exception.h"
#include "planner/logits_rows.h"
#include "torch/csrc/autograd/custom_function.h"
#include "trainer/comm/communication_error.h"
#include "trainer/kernels/kernels.h"
#include "trainer/model/block.h"
#include "trainer/model/layers/matrix_product.h"
#include "trainer/model/layers/saved_casts.h"
#include "trainer/model/weight_casts.h"

namespace muster::trainer {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::ScalarType LossType(at::ScalarType type) {
  return type == at::kDouble ? at::kDouble : at::kFloat;
}

// The factor of the logits' gradients in the type of products. They are between -1 and 1, and most
// are tiny: in FP16 those below 6e-8 would vanish. So lifted, the products with the head's weight,
// which are at most 2,048 times its largest number, are far from the largest number of FP16.
double LiftIn(at::ScalarType type) { return type == at::kHalf ? 1024.0 : 1.0; }

// The labels of some rows. kIgnoredLabel marks a position without a label.
struct Labels {
  at::Tensor columns;      // int64 [rows, 1]; 0 where the label is ignored
  at::Tensor valid;        // bool [rows, 1]
  bool all_valid = false;  // false also if it is not known

  Labels Rows(int64_t begin, int64_t count) const {
    return {columns.narrow(0, begin, count), valid.narrow(0, begin, count), all_valid};
  }
};

// Labels on a device are not looked at, since the host would have to wait for it.
Labels Check(const at::Tensor& labels, int64_t vocabulary) {
  const at::Tensor column = labels.unsqueeze(1), valid = column.ne(kIgnoredLabel);
  const at::Tensor columns = column.masked_fill(valid.logical_not(), 0);
  if (!labels.is_cpu()) return {columns, valid, false};
  const at::Tensor outside = columns.lt(0).logical_or(columns.ge(vocabulary));
  if (outside.any().item<bool>()) {
    TORCH_CHECK_INDEX(false, "Target ", columns.masked_select(outside)[0].item<int64_t>(),
                      " is out of bounds.");
  }
  return {columns, valid, valid.all().item<bool>()};
}

// Turns logits [rows, vocabulary] into probabilities, where they lie, and returns their loss. A
// row's log-sum-exp is computed from its largest probability, which is never too small for its
// logarithm, as the label's may be. The loss is an FP64 scalar on the logits' device.
at::Tensor LossOf(at::Tensor& logits, const Labels& labels) {
  const at::Tensor of_labels = logits.gather(1, labels.columns).to(at::kDouble);
  const at::Tensor largest = logits.amax(1, /*keepdim=*/true).to(at::kDouble);
  at::_softmax_out(logits, logits, 1, /*half_to_float=*/false);
  const at::Tensor probable = logits.amax(1, /*keepdim=*/true).to(at::kDouble);
  const at::Tensor losses = largest.sub(probable.log()).sub(of_labels);
  return losses.masked_fill(labels.valid.logical_not(), 0.0).sum();
}

// The labels whose columns this rank has, counted from its first one.
Labels OfPart(const Labels& labels, const VocabularyPart& part, int64_t own) {
  const at::Tensor columns = labels.columns.sub(part.first);
  const at::Tensor here = columns.ge(0).logical_and(columns.lt(own)).logical_and(labels.valid);
  return {columns.masked_fill(here.logical_not(), 0), here, false};
}

// LossOf() for the columns of one rank among several; `own` are OfPart() of `labels`. The sums are
// in FP64, and the first one is at least 1, since the largest logit is subtracted.
at::Tensor LossOfPart(at::Tensor& logits, const Labels& labels, const Labels& own,
                      Communicator& group) {
  at::Tensor largest = logits.amax(1, /*keepdim=*/true);
  ThrowIfError(group.AllReduce(largest, ReduceOp::kMax, "largest logits")->Wait());
  at::Tensor sums = at::empty({2, logits.size(0), 1}, logits.options().dtype(at::kDouble));
  sums.select(0, 1).copy_(logits.gather(1, own.columns));
  sums.select(0, 1).masked_fill_(own.valid.logical_not(), 0.0);
  logits.sub_(largest).exp_();
  sums.select(0, 0).copy_(logits.sum(1, /*keepdim=*/true, at::kDouble));
  ThrowIfError(group.AllReduce(sums, ReduceOp::kSum, "exponentials")->Wait());
  logits.div_(sums.select(0, 0).to(logits.scalar_type()));
  const at::Tensor losses = sums.select(0, 0).log().add(largest).sub(sums.select(0, 1));
  return losses.masked_fill(labels.valid.logical_not(), 0.0).sum();
}

// Turns probabilities of the columns that a rank has into the gradient of their loss, where they
// lie; `own` are the labels that are among those columns, which may be all.
void ToGradient(const at::Tensor& probabilities, const Labels& labels, const Labels& own) {
  probabilities.scatter_add_(1, own.columns, own.valid.to(probabilities.scalar_type()).neg());
  if (!labels.all_valid) probabilities.masked_fill_(labels.valid.logical_not(), 0.0);
}

// The gradients for an upstream gradient of 1, lifted; undefined where no gradient is needed.
struct Gradients {
  at::Tensor logits;     // in the type of products; set instead of x and weight for a single chunk
  at::Tensor x, weight;  // in the loss's type
};

struct Needs {
  bool x = false;
  bool weight = false;
};

planner::LogitsPlace PlaceOf(const at::Tensor& x) {
  return x.is_cpu() ? planner::LogitsPlace::kCpu : planner::LogitsPlace::kGpu;
}

class LossByChunks {
 public:
  LossByChunks(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& labels,
               const VocabularyPart& part)
      : x_(x),
        weight_(weight),
        labels_(labels),
        part_(part),
        vocabulary_(part.group == nullptr ? weight.size(0) : part.vocabulary),
        wide_(LossType(x.scalar_type())),
        chunk_(planner::LogitsRows(x.size(0), MostColumns(), PlaceOf(x))) {}

  // Computes the loss, an FP64 scalar on the device, and of the gradients those that are needed.
  at::Tensor Compute(Needs needs, Gradients& gradients) {
    const int64_t rows = x_.size(0);
    const bool one = chunk_ == rows;
    if (!one && needs.x) gradients.x = at::empty(x_.sizes(), x_.options().dtype(wide_));
    if (!one && needs.weight) {
      gradients.weight = at::zeros(weight_.sizes(), weight_.options().dtype(wide_));
    }
    at::Tensor loss = at::zeros({}, x_.options().dtype(at::kDouble));
    const Labels all = Check(labels_, vocabulary_);
    for (int64_t begin = 0; begin < rows; begin += chunk_) {
      const int64_t count = std::min(chunk_, rows - begin);
      const at::Tensor x = x_.narrow(0, begin, count);
      const at::Tensor gradient = AddLoss(TimesTransposed(x, weight_), begin, all, needs, loss);
      if (!gradient.defined()) continue;
      if (one) gradients.logits = gradient;
      if (gradients.x.defined()) {
        gradients.x.narrow(0, begin, count).copy_(TimesTransposed(gradient, weight_.t()));
      }
      if (gradients.weight.defined()) AddProduct(gradients.weight, gradient.t(), x);
    }
    return loss;
  }

 private:
  // The most columns that any rank has: all ranks need the same chunks.
  int64_t MostColumns() const {
    const int64_t ranks = part_.group == nullptr ? 1 : part_.group->size();
    return (vocabulary_ + ranks - 1) / ranks;
  }

  // Adds the loss of a chunk, whose rows begin at `begin`, and returns the gradient of its logits,
  // in the type of products, if any is needed.
  at::Tensor AddLoss(at::Tensor logits, int64_t begin, const Labels& all, Needs needs,
                     const at::Tensor& loss) const {
    const int64_t count = logits.size(0);
    const bool needed = needs.x || needs.weight;
    if (const LayerKernels* const layers = LayersOf(logits);
        layers != nullptr && part_.group == nullptr) {
      const at::Tensor losses =
          layers->CrossEntropy(logits, labels_.narrow(0, begin, count), kIgnoredLabel);
      loss.add_(losses.sum(at::kDouble));
      return needed ? logits : at::Tensor();
    }
    logits = logits.to(wide_);
    const Labels labels = all.Rows(begin, count);
    const Labels own = part_.group == nullptr ? labels : OfPart(labels, part_, logits.size(1));
    loss.add_(part_.group == nullptr ? LossOf(logits, labels)
                                     : LossOfPart(logits, labels, own, *part_.group));
    if (!needed) return {};
    ToGradient(logits, labels, own);
    if (const double lift = LiftIn(x_.scalar_type()); lift != 1.0) logits.mul_(lift);
    return logits.to(x_.scalar_type());
  }

  const at::Tensor &x_, &weight_, &labels_;  // of one type
  const VocabularyPart& part_;
  const int64_t vocabulary_;
  const at::ScalarType wide_;
  const int64_t chunk_;  // rows
};

class HeadLossFunction final : public torch::autograd::Function<HeadLossFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& labels, at::ScalarType type, bool gradient_mode,
                            const c10::intrusive_ptr<WeightCasts>& casts,
                            const VocabularyPart& part) {
    const at::Tensor cast_x = x.to(type), cast_weight = Cast(casts, weight, type);
    const Needs needs{.x = gradient_mode && x.requires_grad(),
                      .weight = gradient_mode && weight.requires_grad()};
    Gradients gradients;
    const at::Tensor loss =
        LossByChunks(cast_x, cast_weight, labels, part).Compute(needs, gradients);
    const at::Tensor source = gradients.logits.defined() ? cast_x : at::Tensor();
    Save(*context, casts);
    context->saved_data["lift"] = LiftIn(type);
    context->save_for_backward({weight, source, gradients.logits, gradients.x, gradients.weight});
    return loss.to(LossType(type));
  }

  static variable_list backward(AutogradContext* context, const variable_list& upstream) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &weight = saved[0], &x = saved[1], &logits_gradient = saved[2];
    const double lift = context->saved_data["lift"].toDouble();
    const Factor scale(lift == 1.0 ? upstream[0] : upstream[0].div(lift));
    at::Tensor x_gradient = saved[3], weight_gradient;
    if (context->needs_input_grad(0)) {
      if (logits_gradient.defined()) {
        const at::Tensor cast = Cast(CastsOf(*context), weight, x.scalar_type());
        x_gradient = TimesTransposed(logits_gradient, cast.t());
      }
      // Scaled in the loss's type, before autograd casts it to that of x.
      x_gradient = scale.Times(x_gradient.to(upstream[0].scalar_type()));
    }
    if (context->needs_input_grad(1)) {
      weight_gradient = logits_gradient.defined()
                            ? AddToGradient(weight, logits_gradient.t(), x, scale)
                            : AddToGradient(weight, saved[4], scale);
    }
    return {x_gradient,   weight_gradient, at::Tensor(), at::Tensor(),
            at::Tensor(), at::Tensor(),    at::Tensor()};
  }
};

}  // namespace

at::Tensor HeadLoss(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& labels,
                    at::ScalarType type, const c10::intrusive_ptr<WeightCasts>& casts,
                    const VocabularyPart& part) {
  return HeadLossFunction::apply(x, weight, labels, type, c10::GradMode::is_enabled(), casts, part);
}

}  // namespace muster::trainer
