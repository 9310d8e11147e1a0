#include "trainer/cuda/device_layers.h"

#include <array>
#include <cstdint>

#include "ATen/ops/empty.h"
#include "ATen/ops/empty_like.h"
#include "c10/core/DeviceGuard.h"
#include "trainer/cuda/kernels/activation.h"
#include "trainer/cuda/kernels/column_sums.h"
#include "trainer/cuda/kernels/cross_entropy.h"
#include "trainer/cuda/kernels/fp8.h"
#include "trainer/cuda/kernels/norm.h"
#include "trainer/cuda/kernels/pack_heads.h"
#include "trainer/cuda/kernels/rope.h"
#include "trainer/kernels/fp8_matrix.h"

namespace muster::trainer::cuda {
namespace {

Element ElementOf(const at::Tensor& tensor) {
  TORCH_CHECK(tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kBFloat16,
              "kernels of layers compute in FP32 and BF16, not in ", tensor.scalar_type());
  return tensor.scalar_type() == at::kFloat ? Element::kFloat : Element::kBfloat16;
}

at::Tensor Floats(const at::Tensor& like, at::IntArrayRef sizes) {
  return at::empty(sizes, like.options().dtype(at::kFloat).requires_grad(false));
}

// An output as `like`, whose elements lie row after row.
at::Tensor Output(const at::Tensor& like, c10::ScalarType type) {
  return at::empty(like.sizes(), like.options().dtype(type).requires_grad(false));
}
at::Tensor Output(const at::Tensor& like) { return Output(like, like.scalar_type()); }

// Undefined tensors stay so, and have null for data.
at::Tensor Contiguous(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.contiguous() : tensor;
}
void* DataOf(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.mutable_data_ptr() : nullptr;
}
const void* ConstDataOf(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr() : nullptr;
}

// Returns heads whose elements lie beside each other.
at::Tensor WithHeadsTogether(const at::Tensor& heads) {
  return heads.stride(-1) == 1 ? heads : heads.contiguous();
}

// Returns a contiguous matrix at an address at which runs of its elements can be read at once.
at::Tensor WithRunsAligned(const at::Tensor& matrix) {
  const auto address = reinterpret_cast<uintptr_t>(matrix.const_data_ptr());
  const uint64_t run = LayerKernels::kFp8Run * static_cast<uint64_t>(matrix.element_size());
  return address % run == 0 ? matrix : matrix.clone();
}

float* FloatsOf(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.mutable_data_ptr<float>() : nullptr;
}
const float* ConstFloatsOf(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr<float>() : nullptr;
}

class OnDevice final : public LayerKernels {
 public:
  explicit OnDevice(CurrentStream current) : current_(current) {}

  NormOutput Norm(const at::Tensor& input, const at::Tensor& branch_input, const at::Tensor& gain,
                  const at::Tensor& bias, double epsilon, c10::ScalarType result) const override {
    const c10::DeviceGuard guard(input.device());
    const at::Tensor x = input.contiguous(), branch = Contiguous(branch_input);
    const int64_t width = x.size(-1), rows = x.numel() / width;
    NormOutput out{.sum = {}, .y = Output(x, result), .mean = {}, .scale = Floats(x, {rows})};
    if (bias.defined()) out.mean = Floats(x, {rows});
    if (branch.defined()) {
      TORCH_CHECK(branch.scalar_type() == result && branch.numel() == x.numel(),
                  "a branch must have the elements of x, in the type of the result");
      out.sum = Output(x);
    }
    const NormForward norm{.rows = rows,
                           .width = width,
                           .epsilon = static_cast<float>(epsilon),
                           .centered = bias.defined(),
                           .stream = ElementOf(x),
                           .result = ElementOf(out.y),
                           .x = x.const_data_ptr(),
                           .branch = ConstDataOf(branch),
                           .gain = ConstFloatsOf(gain),
                           .bias = ConstFloatsOf(bias),
                           .sum = DataOf(out.sum),
                           .y = out.y.mutable_data_ptr(),
                           .mean = FloatsOf(out.mean),
                           .scale = FloatsOf(out.scale)};
    CheckLaunch(LaunchNormForward(norm, current_(x.device())), "normalizing");
    return out;
  }

  NormGradients NormBackward(const at::Tensor& gradient, const at::Tensor& sum_gradient,
                             const at::Tensor& sum, const at::Tensor& gain,
                             const NormOutput& forward) const override {
    const c10::DeviceGuard guard(sum.device());
    const at::Tensor x = sum.contiguous(), d_y = gradient.contiguous();
    const at::Tensor d_sum = Contiguous(sum_gradient);
    const int64_t width = x.size(-1);
    const bool centered = forward.mean.defined();
    NormGradients out{.x = Output(x), .branch = {}, .gain = Floats(x, {width}), .bias = {}};
    if (centered) out.bias = Floats(x, {width});
    if (forward.sum.defined()) out.branch = Output(x, d_y.scalar_type());
    const at::Tensor workspace = Floats(x, {NormBackwardWorkspace(width)});
    const trainer::cuda::NormBackward norm{.rows = x.numel() / width,
                                           .width = width,
                                           .centered = centered,
                                           .stream = ElementOf(x),
                                           .result = ElementOf(d_y),
                                           .x = x.const_data_ptr(),
                                           .d_y = d_y.const_data_ptr(),
                                           .d_sum = ConstDataOf(d_sum),
                                           .gain = ConstFloatsOf(gain),
                                           .mean = ConstFloatsOf(forward.mean),
                                           .scale = ConstFloatsOf(forward.scale),
                                           .d_x = out.x.mutable_data_ptr(),
                                           .d_branch = DataOf(out.branch),
                                           .d_gain = FloatsOf(out.gain),
                                           .d_bias = FloatsOf(out.bias),
                                           .workspace = FloatsOf(workspace)};
    CheckLaunch(LaunchNormBackward(norm, current_(x.device())), "the gradient of a normalization");
    return out;
  }

  at::Tensor PackHeads(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                       bool by_head) const override {
    const c10::DeviceGuard guard(queries.device());
    const int64_t batch = queries.size(0), heads = queries.size(1), positions = queries.size(2);
    const int64_t width = queries.size(3);
    const std::array<int64_t, 5> sizes = {batch, positions, by_head ? heads : 3,
                                          by_head ? 3 : heads, width};
    const at::Tensor packed = at::empty(sizes, queries.options().requires_grad(false));
    trainer::cuda::PackHeads pack{.batch = batch,
                                  .positions = positions,
                                  .heads = heads,
                                  .width = width,
                                  .by_head = by_head,
                                  .element = ElementOf(queries),
                                  .packed = packed.mutable_data_ptr()};
    const at::Tensor parts[] = {WithHeadsTogether(queries), WithHeadsTogether(keys),
                                WithHeadsTogether(values)};
    for (size_t i = 0; i < pack.parts.size(); ++i) {
      TORCH_CHECK(
          parts[i].sizes() == queries.sizes() && parts[i].scalar_type() == queries.scalar_type(),
          "queries, keys and values must be of one shape and type");
      pack.parts[i] = {parts[i].const_data_ptr(), parts[i].stride(0), parts[i].stride(2),
                       parts[i].stride(1)};
    }
    CheckLaunch(LaunchPackHeads(pack, current_(queries.device())), "putting heads together");
    return packed;
  }

  at::Tensor ColumnSums(const at::Tensor& matrix) const override {
    const c10::DeviceGuard guard(matrix.device());
    const at::Tensor rows = matrix.contiguous();
    const int64_t width = rows.size(1);
    const at::Tensor sums = Floats(rows, {width});
    const at::Tensor workspace = Floats(rows, {ColumnSumsWorkspace(rows.size(0), width)});
    CheckLaunch(LaunchColumnSums({.rows = rows.size(0),
                                  .width = width,
                                  .element = ElementOf(rows),
                                  .matrix = rows.const_data_ptr(),
                                  .sums = FloatsOf(sums),
                                  .workspace = FloatsOf(workspace)},
                                 current_(rows.device())),
                "the gradient of a bias");
    return sums;
  }

  Fp8Matrix ToFp8(const at::Tensor& input, c10::ScalarType type, bool columns) const override {
    const c10::DeviceGuard guard(input.device());
    const at::Tensor matrix = WithRunsAligned(input.contiguous());
    const int64_t rows = matrix.size(0), width = matrix.size(1);
    const auto bytes = matrix.options().dtype(type).requires_grad(false);
    Fp8Matrix out{
        .rows = at::empty({rows, width}, bytes), .columns = {}, .unscale = Floats(matrix, {})};
    if (columns) out.columns = at::empty({width, rows}, bytes);
    const at::Tensor workspace = Floats(matrix, {kFp8Workspace});
    const Fp8Conversion conversion{
        .rows = rows,
        .width = width,
        .element = ElementOf(matrix),
        .matrix = matrix.const_data_ptr(),
        .type = type == at::kFloat8_e4m3fn ? Fp8Type::kE4m3 : Fp8Type::kE5m2,
        .largest_number = LargestOfFp8(type),
        .least_magnitude = kLeastFp8Magnitude,
        .by_row = static_cast<uint8_t*>(out.rows.mutable_data_ptr()),
        .by_column = static_cast<uint8_t*>(DataOf(out.columns)),
        .unscale = FloatsOf(out.unscale),
        .workspace = static_cast<uint32_t*>(workspace.mutable_data_ptr())};
    CheckLaunch(LaunchFp8Conversion(conversion, current_(matrix.device())), "conversion to FP8");
    return out;
  }

  at::Tensor Gelu(const at::Tensor& input) const override {
    const c10::DeviceGuard guard(input.device());
    const at::Tensor x = input.contiguous(), y = Output(x);
    CheckLaunch(LaunchGelu(ElementOf(x), x.numel(), x.const_data_ptr(), y.mutable_data_ptr(),
                           current_(x.device())),
                "GELU");
    return y;
  }

  at::Tensor GeluBackward(const at::Tensor& gradient, const at::Tensor& input) const override {
    const c10::DeviceGuard guard(input.device());
    const at::Tensor x = input.contiguous(), d_y = gradient.contiguous(), d_x = Output(x);
    CheckLaunch(
        LaunchGeluBackward(ElementOf(x), x.numel(), x.const_data_ptr(), d_y.const_data_ptr(),
                           d_x.mutable_data_ptr(), current_(x.device())),
        "the gradient of GELU");
    return d_x;
  }

  at::Tensor SwiGlu(const at::Tensor& gate_input, const at::Tensor& up_input) const override {
    const c10::DeviceGuard guard(gate_input.device());
    const at::Tensor gate = gate_input.contiguous(), up = up_input.contiguous();
    const at::Tensor y = Output(gate);
    CheckLaunch(LaunchSwiGlu(ElementOf(gate), gate.numel(), gate.const_data_ptr(),
                             up.const_data_ptr(), y.mutable_data_ptr(), current_(gate.device())),
                "SwiGLU");
    return y;
  }

  SwiGluGradients SwiGluBackward(const at::Tensor& gradient, const at::Tensor& gate_input,
                                 const at::Tensor& up_input) const override {
    const c10::DeviceGuard guard(gate_input.device());
    const at::Tensor gate = gate_input.contiguous(), up = up_input.contiguous();
    const at::Tensor d_y = gradient.contiguous();
    const SwiGluGradients out{.gate = Output(gate), .up = Output(up)};
    CheckLaunch(
        LaunchSwiGluBackward(ElementOf(gate), gate.numel(), gate.const_data_ptr(),
                             up.const_data_ptr(), d_y.const_data_ptr(), out.gate.mutable_data_ptr(),
                             out.up.mutable_data_ptr(), current_(gate.device())),
        "the gradient of SwiGLU");
    return out;
  }

  at::Tensor Turn(const at::Tensor& input, const at::Tensor& cosine, const at::Tensor& sine,
                  bool back) const override {
    const c10::DeviceGuard guard(input.device());
    // Heads that lie beside each other for each position, as a product of matrices leaves them, are
    // turned where they lie.
    const bool heads_last = !input.is_contiguous() && input.transpose(1, 2).is_contiguous();
    const at::Tensor x = heads_last ? input.transpose(1, 2) : input.contiguous();
    const at::Tensor y = Output(x);
    const Rope rope{.rows = x.numel() / x.size(3),
                    .width = x.size(3),
                    .positions = cosine.size(0),
                    .repeat = heads_last ? x.size(2) : 1,
                    .element = ElementOf(x),
                    .cosine = ConstFloatsOf(cosine),
                    .sine = ConstFloatsOf(sine),
                    .x = x.const_data_ptr(),
                    .y = y.mutable_data_ptr(),
                    .backward = back};
    CheckLaunch(LaunchRope(rope, current_(x.device())), "rotary positions");
    return heads_last ? y.transpose(1, 2) : y;
  }

  at::Tensor CrossEntropy(const at::Tensor& logits, const at::Tensor& labels,
                          int64_t ignored) const override {
    const c10::DeviceGuard guard(logits.device());
    TORCH_CHECK(logits.is_contiguous() && labels.is_contiguous(),
                "logits and labels must be contiguous");
    const at::Tensor losses = Floats(logits, {logits.size(0)});
    const trainer::cuda::CrossEntropy chunk{.rows = logits.size(0),
                                            .vocabulary = logits.size(1),
                                            .element = ElementOf(logits),
                                            .logits = logits.mutable_data_ptr(),
                                            .labels = labels.const_data_ptr<int64_t>(),
                                            .ignored = ignored,
                                            .losses = FloatsOf(losses)};
    CheckLaunch(LaunchCrossEntropy(chunk, current_(logits.device())), "the cross-entropy");
    return losses;
  }

 private:
  const CurrentStream current_;
};

}  // namespace

std::unique_ptr<LayerKernels> MakeDeviceLayers(CurrentStream current) {
  return std::make_unique<OnDevice>(current);
}

}  // namespace muster::trainer::cuda
