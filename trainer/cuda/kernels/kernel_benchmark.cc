// usage: kernel_benchmark [ELEMENTS [REPEATS]]
//
// Prints the rate of each kernel in percent of the rate at which the device copies its own memory,
// counted in bytes that must be read and written; a line of the copy's own rate, in GB/s, comes
// first. ELEMENTS, 2^26 if left out, should fill caches many times over. REPEATS is 20.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#include "trainer/cuda/kernels/activation.h"
#include "trainer/cuda/kernels/adamw.h"
#include "trainer/cuda/kernels/cast.h"
#include "trainer/cuda/kernels/chunk_squares.h"
#include "trainer/cuda/kernels/column_sums.h"
#include "trainer/cuda/kernels/cross_entropy.h"
#include "trainer/cuda/kernels/device_memory.h"
#include "trainer/cuda/kernels/device_timer.h"
#include "trainer/cuda/kernels/digest.h"
#include "trainer/cuda/kernels/fill.h"
#include "trainer/cuda/kernels/fp8.h"
#include "trainer/cuda/kernels/norm.h"
#include "trainer/cuda/kernels/pack_heads.h"
#include "trainer/cuda/kernels/rope.h"

namespace muster::trainer::cuda {
namespace {

constexpr int64_t kWidth = 4096;  // of a row
constexpr int64_t kNarrow = 768;  // of a row of GPT-2
constexpr int64_t kHead = 128;
constexpr auto kBf16 = Element::kBfloat16;

// Five arrays of FP32, of zeros, which kernels use as what they like.
class Benchmark {
 public:
  Benchmark(int64_t elements, int repeats)
      : repeats_(repeats),
        count_(elements),
        rows_(elements / kWidth),
        small_(kWidth),
        zeros_(std::vector<float>(static_cast<size_t>(elements / kNarrow))),
        sums_(2 * kWidth),
        workspace_(NormBackwardWorkspace(kWidth)),
        labels_(Labels(rows_)) {
    const std::vector<float> zeros(static_cast<size_t>(elements));
    for (int i = 0; i < 5; ++i) {
      arrays_.push_back(std::make_unique<DeviceArray<float>>(zeros));
    }
    CopyToDevice(zeros.data(), static_cast<size_t>(kWidth) * sizeof(float), small_.data());
  }

  void Run() {
    const double seconds =
        SecondsOf(repeats_, [&] { return CopyOnDevice(at(0), bytes(4), at(1)); });
    copy_ = 2 * static_cast<double>(bytes(4)) / seconds;
    std::printf("copy in GB/s %.1f\n", copy_ * 1e-9);
    Moves();
    Layers();
    Optimizer();
  }

 private:
  static std::vector<int64_t> Labels(int64_t rows) {
    std::vector<int64_t> labels(static_cast<size_t>(rows));
    for (int64_t r = 0; r < rows; ++r) labels[static_cast<size_t>(r)] = r % kWidth;
    return labels;
  }
  float* at(size_t array) const { return arrays_[array]->data(); }
  size_t bytes(int64_t per_element) const { return static_cast<size_t>(count_ * per_element); }

  // `per_element` is the number of bytes that are read and written for each element.
  void Row(const char* name, int64_t per_element, const std::function<LaunchResult()>& launch) {
    Print(name, bytes(per_element), launch);
  }
  void Print(const char* name, size_t bytes, const std::function<LaunchResult()>& launch) {
    const double rate = static_cast<double>(bytes) / SecondsOf(repeats_, launch);
    std::printf("%s %.4g\n", name, 100 * rate / copy_);
  }

  void Moves() {
    const ElementRun whole = {.begin = 0, .count = count_};
    const std::vector<int64_t> samples = {1};
    auto* const sums = reinterpret_cast<double*>(at(1));
    Row("cast FP32 to BF16", 6,
        [&] { return LaunchCast(Element::kFloat, at(0), count_, 1.0f, kBf16, at(1), nullptr); });
    Row("chunk squares", 4,
        [&] { return LaunchChunkSquares(at(0), rows_, kWidth, sums, nullptr); });
    Row("digest", 4, [&] {
      return LaunchDigest(reinterpret_cast<uint32_t*>(at(0)), count_,
                          reinterpret_cast<int64_t*>(at(1)), nullptr);
    });
    Row("dropout mask", 4, [&] {
      return LaunchFillDropout(
          {.seed = 1, .probability = 0.1, .samples = samples, .runs = {&whole, 1}}, at(2), nullptr);
    });
  }

  void Layers() {
    Row("SwiGLU BF16", 6,
        [&] { return LaunchSwiGlu(kBf16, count_, at(0), at(1), at(2), nullptr); });
    Row("SwiGLU BF16 backward", 10, [&] {
      return LaunchSwiGluBackward(kBf16, count_, at(0), at(1), at(2), at(3), at(4), nullptr);
    });
    Row("GELU BF16", 4, [&] { return LaunchGelu(kBf16, count_, at(0), at(1), nullptr); });
    Row("GELU BF16 backward", 6,
        [&] { return LaunchGeluBackward(kBf16, count_, at(0), at(1), at(2), nullptr); });
    Row("RoPE BF16", 4, [&] {
      return LaunchRope({.rows = count_ / kHead,
                         .width = kHead,
                         .element = kBf16,
                         .cosine = small_.data(),
                         .sine = small_.data(),
                         .x = at(0),
                         .y = at(1)},
                        nullptr);
    });
    Row("RMSNorm FP32 to BF16", 6, [&] { return LaunchNormForward(Norm(false), nullptr); });
    Row("LayerNorm FP32 to BF16", 6, [&] { return LaunchNormForward(Norm(true), nullptr); });
    NormForward of_sum = Norm(true);
    of_sum.branch = at(3);
    of_sum.sum = at(4);
    Row("LayerNorm of a sum", 12, [&] { return LaunchNormForward(of_sum, nullptr); });
    Row("LayerNorm of a sum, backward", 16,
        [&] { return LaunchNormBackward(NormGradient(kWidth), nullptr); });
    Row("the same, width of GPT-2", 16,
        [&] { return LaunchNormBackward(NormGradient(kNarrow), nullptr); });
    Row("gradient of a bias BF16", 2, [&] { return LaunchColumnSums(Columns(), nullptr); });
    // The matrix is read for its largest magnitude, and again.
    Row("BF16 to FP8 by row and column", 6, [&] { return LaunchFp8Conversion(ToFp8(), nullptr); });
    Row("heads put together BF16", 4, [&] { return LaunchPackHeads(Heads(), nullptr); });
    Row("cross-entropy FP32", 8, [&] {
      return LaunchCrossEntropy({.rows = rows_,
                                 .vocabulary = kWidth,
                                 .logits = at(0),
                                 .labels = labels_.data(),
                                 .losses = at(1)},
                                nullptr);
    });
    CrossEntropyOfGpt2();
  }

  // Rows of the vocabulary of GPT-2, as far as an array reaches.
  void CrossEntropyOfGpt2() {
    const int64_t vocabulary = std::min<int64_t>(50304, count_);
    const CrossEntropy chunk{.rows = std::min(2 * count_ / vocabulary, rows_),
                             .vocabulary = vocabulary,
                             .element = kBf16,
                             .logits = at(0),
                             .labels = labels_.data(),
                             .losses = at(1)};
    Print("cross-entropy BF16, vocabulary of GPT-2",
          static_cast<size_t>(4 * chunk.rows * vocabulary),
          [&] { return LaunchCrossEntropy(chunk, nullptr); });
  }

  NormForward Norm(bool centered) const {
    return {.rows = rows_,
            .width = kWidth,
            .epsilon = 1e-5f,
            .centered = centered,
            .result = kBf16,
            .x = at(0),
            .gain = small_.data(),
            .bias = centered ? small_.data() : nullptr,
            .y = at(1),
            .mean = at(2),
            .scale = at(3)};
  }

  NormBackward NormGradient(int64_t width) const {
    return {.rows = count_ / width,
            .width = width,
            .centered = true,
            .result = kBf16,
            .x = at(0),
            .d_y = at(1),
            .d_sum = at(2),
            .gain = small_.data(),
            .mean = zeros_.data(),
            .scale = zeros_.data(),
            .d_x = at(3),
            .d_branch = at(4),
            .d_gain = sums_.data(),
            .d_bias = sums_.data() + width,
            .workspace = workspace_.data()};
  }
  ColumnSums Columns() const {
    return {.rows = rows_,
            .width = kWidth,
            .element = kBf16,
            .matrix = at(0),
            .sums = sums_.data(),
            .workspace = workspace_.data()};
  }
  Fp8Conversion ToFp8() const {
    auto* const bytes = reinterpret_cast<uint8_t*>(at(1));
    return {.rows = rows_ * kFp8Run,
            .width = kWidth / kFp8Run,
            .element = kBf16,
            .matrix = at(0),
            .type = Fp8Type::kE4m3,
            .largest_number = 448,
            .least_magnitude = 1e-30f,
            .by_row = bytes,
            .by_column = bytes + count_,
            .unscale = sums_.data(),
            .workspace = reinterpret_cast<uint32_t*>(workspace_.data())};
  }
  PackHeads Heads() const {
    const int64_t heads = 8, positions = count_ / 3 / (heads * kHead);
    const trainer::cuda::Heads part{
        .data = at(0), .batch_stride = 0, .position_stride = heads * kHead, .head_stride = kHead};
    return {.batch = 1,
            .positions = positions,
            .heads = heads,
            .width = kHead,
            .element = kBf16,
            .parts = {part, part, part},
            .packed = at(1)};
  }

  void Optimizer() {
    const AdamWRun run{.values = at(0),
                       .gradients = at(1),
                       .first = at(2),
                       .second = at(3),
                       .copy = at(4),
                       .count = count_};
    Row("AdamW with a copy in BF16", 30,
        [&] { return LaunchAdamW({&run, 1}, {.learning_rate = 1e-3}, nullptr); });
  }

  const int repeats_;
  const int64_t count_, rows_;
  const DeviceArray<float> small_, zeros_, sums_, workspace_;
  const DeviceArray<int64_t> labels_;
  std::vector<std::unique_ptr<DeviceArray<float>>> arrays_;
  double copy_ = 0;  // bytes/s
};

}  // namespace
}  // namespace muster::trainer::cuda

int main(int argc, char** argv) {
  const int64_t elements = argc > 1 ? std::atoll(argv[1]) : int64_t{1} << 26;
  const int repeats = argc > 2 ? std::atoi(argv[2]) : 20;
  if (elements < 4096 || elements % 4096 != 0 || repeats < 1) {
    std::fprintf(stderr,
                 "usage: kernel_benchmark [ELEMENTS [REPEATS]], elements a multiple of 4096\n");
    return 2;
  }
  muster::trainer::cuda::Benchmark(elements, repeats).Run();
  return 0;
}
