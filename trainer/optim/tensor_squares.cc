#include "trainer/optim/tensor_squares.h"

#include <algorithm>

#include "ATen/ops/zeros.h"
#include "base/status_macros.h"
#include "trainer/kernels/kernels.h"
#include "trainer/parallel/unit_layout.h"

namespace muster::trainer {
TensorSquares::TensorSquares(const std::vector<OptimizerUnit>& units, int kinds) : kinds_(kinds) {
  at::TensorOptions options;
  for (const OptimizerUnit& unit : units) {
    std::vector<Partials>& of_unit = partials_.emplace_back();
    options = unit.values.options();
    for (const OptimizerTensor& tensor : unit.tensors) {
      const int64_t end = RoundUp(tensor.offset + tensor.size, kTensorAlignment);
      const int64_t first = tensor.offset / kChunkElements;
      of_unit.push_back({.begin = tensor.offset,
                         .end = end,
                         .first_chunk = first,
                         .first_sum = partials_count_,
                         .count = RoundUp(end, kChunkElements) / kChunkElements - first,
                         .part = tensor.part});
      partials_count_ += of_unit.back().count;
    }
  }
  sums_ = at::zeros({kinds_, partials_count_}, options.dtype(at::kDouble));
}

void TensorSquares::Begin() { sums_.zero_(); }

void TensorSquares::Add(int kind, int unit, int64_t begin, const at::Tensor& numbers) {
  const at::Tensor sums = sums_.select(0, kind);
  const int64_t end = begin + numbers.numel();
  for (const Partials& tensor : partials_[static_cast<size_t>(unit)]) {
    int64_t at = std::max(begin, tensor.begin);
    const int64_t last = std::min(end, tensor.end);
    while (at < last) {
      // A step takes the rest of one chunk, or a run of whole chunks.
      const bool whole = at % kChunkElements == 0 && last - at >= kChunkElements;
      const int64_t next = whole ? last / kChunkElements * kChunkElements
                                 : std::min(last, RoundUp(at + 1, kChunkElements));
      const int64_t chunks = whole ? (next - at) / kChunkElements : 1;
      const at::Tensor part = numbers.narrow(0, at - begin, next - at);
      sums.narrow(0, tensor.first_sum + at / kChunkElements - tensor.first_chunk, chunks)
          .copy_(KernelsOf(part).ChunkSquares(part, chunks));
      at = next;
    }
  }
}

// Returns the sums of this rank's parts of tensors, by kind and tensor.
absl::StatusOr<std::vector<double>> TensorSquares::SumOwnParts(
    const OptimizerContext& context) const {
  at::Tensor partials = sums_.cpu().contiguous();
  if (context.shard != nullptr) {
    // The all-reduce destroys its input when it breaks off. Each sum is zero on all ranks but one.
    partials = partials.clone();
    MUSTER_RETURN_IF_ERROR(
        context.shard->AllReduce(partials.view({-1}), ReduceOp::kSum, "squares of slices")->Wait());
  }
  std::vector<double> sums;
  for (int kind = 0; kind < kinds_; ++kind) {
    const double* of_kind = partials.const_data_ptr<double>() + kind * partials_count_;
    for (const std::vector<Partials>& unit : partials_) {
      for (const Partials& tensor : unit) {
        double sum = 0.0;
        for (int64_t i = 0; i < tensor.count; ++i) sum += of_kind[tensor.first_sum + i];
        sums.push_back(sum);
      }
    }
  }
  return sums;
}

absl::StatusOr<std::vector<std::vector<std::vector<double>>>> TensorSquares::Sum(
    const OptimizerContext& context) const {
  MUSTER_ASSIGN_OR_RETURN(const std::vector<double> own, SumOwnParts(context));
  const int64_t parts = context.tensor == nullptr ? 1 : context.tensor->size();
  const int64_t part = context.tensor == nullptr ? 0 : context.tensor->rank();
  const auto count = static_cast<int64_t>(own.size());
  at::Tensor of_parts = at::zeros({parts, count}, at::kDouble);
  std::copy(own.begin(), own.end(), of_parts.mutable_data_ptr<double>() + part * count);
  if (parts > 1) {
    MUSTER_RETURN_IF_ERROR(
        context.tensor->AllReduce(of_parts.view({-1}), ReduceOp::kSum, "squares of parts")->Wait());
  }
  const double* const all = of_parts.const_data_ptr<double>();
  std::vector<std::vector<std::vector<double>>> out(static_cast<size_t>(kinds_));
  size_t at = 0;
  for (auto& of_kind : out) {
    for (const std::vector<Partials>& unit : partials_) {
      std::vector<double>& of_unit = of_kind.emplace_back();
      for (const Partials& tensor : unit) {
        double sum = own[at];
        if (tensor.part.count > 1) {
          sum = 0.0;
          for (int64_t p = 0; p < parts; ++p) sum += all[p * count + static_cast<int64_t>(at)];
        }
        of_unit.push_back(sum);
        ++at;
      }
    }
  }
  return out;
}

}  // namespace muster::trainer
