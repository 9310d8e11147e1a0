#include "trainer/cuda/kernels/fill.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string_view>

#include "base/hash.h"
#include "trainer/cuda/kernels/elements.h"
#include "trainer/cuda/kernels/kernel.h"
#include "trainer/random/element_run.h"
#include "trainer/random/philox.h"

namespace muster::trainer::cuda {
namespace {

constexpr double kTwoTo53 = 9007199254740992.0;

// The arguments of a kernel have 4 KB, so a launch takes so many runs and samples at most.
constexpr size_t kRuns = 32;
constexpr size_t kSamples = 64;

// Runs cut at multiples of kElements, the elements that kUnits threads draw together. `Place` tells
// a thread what it draws.
template <int64_t kElements, int64_t kUnits>
struct Runs {
  int count = 0;
  ElementRun run[kRuns] = {};
  int64_t unit[kRuns] = {};    // the first of each run
  int64_t offset[kRuns] = {};  // of each run in the output
  int64_t units = 0;

  // Takes as many runs as fit off the front of `rest`; `at` is the offset of the next.
  void Take(std::span<const ElementRun>& rest, int64_t& at) {
    const size_t taken = std::min(rest.size(), kRuns);
    for (const ElementRun& one : rest.first(taken)) {
      if (one.count == 0) continue;
      run[count] = one;
      unit[count] = units;
      offset[count] = at;
      const int64_t last = one.begin + one.count - 1;
      units += (last / kElements - one.begin / kElements + 1) * kUnits;
      at += one.count;
      ++count;
    }
    rest = rest.subspan(taken);
  }

  struct Place {
    int64_t block, lane;  // what is drawn: unit `lane` of block `block`
    int64_t begin, end;   // the run
    int64_t offset;       // of element 0, if the run began there
  };
  MUSTER_DEVICE Place PlaceOf(int64_t index) const {
    int r = 0;
    while (r + 1 < count && unit[r + 1] <= index) ++r;
    const int64_t local = index - unit[r];
    return {run[r].begin / kElements + local / kUnits, local % kUnits, run[r].begin,
            run[r].begin + run[r].count, offset[r] - run[r].begin};
  }
};

// Each counter gives two numbers (Box and Muller, 1958).
template <typename T>
struct FillNormal {
  static constexpr int kThreads = 256;
  struct Shared {};

  uint64_t key;
  double deviation;
  Runs<2, 1> runs;
  T* out;

  MUSTER_DEVICE void operator()(const Thread& thread, Shared&) const {
    const int64_t stride = thread.blocks() * kThreads;
    for (int64_t i = thread.block() * kThreads + thread.index(); i < runs.units; i += stride) {
      const auto place = runs.PlaceOf(i);
      const auto pair = static_cast<uint64_t>(place.block);
      const std::array<uint32_t, 4> words =
          Philox(key, {static_cast<uint32_t>(pair), static_cast<uint32_t>(pair >> 32), 0, 0x1717});
      const double u =
          (static_cast<double>((uint64_t{words[0]} << 21) ^ (words[1] >> 11)) + 0.5) / kTwoTo53;
      const double v =
          static_cast<double>((uint64_t{words[2]} << 21) ^ (words[3] >> 11)) / kTwoTo53;
      const double radius = deviation * sqrt(-2.0 * log(u));
      const double angle = 2.0 * std::numbers::pi * v;
      const int64_t first = 2 * place.block;
      if (first >= place.begin) out[place.offset + first] = static_cast<T>(radius * cos(angle));
      if (first + 1 < place.end) {
        out[place.offset + first + 1] = static_cast<T>(radius * sin(angle));
      }
    }
  }
};

constexpr int64_t kLanes = 8;       // counters whose draws the CPU interleaves
constexpr int64_t kPerCounter = 8;  // 16-bit draws

// Each thread takes one counter, whose draws are kLanes elements apart.
template <typename T>
struct FillDropout {
  static constexpr int kThreads = 256;
  struct Shared {};

  uint64_t key;
  uint32_t place;
  uint32_t threshold;
  T kept;
  int rows;
  int64_t samples[kSamples];
  int64_t width;  // elements of a row, of all runs
  Runs<kLanes * kPerCounter, kLanes> runs;
  T* out;

  MUSTER_DEVICE void operator()(const Thread& thread, Shared&) const {
    const int64_t stride = thread.blocks() * kThreads;
    for (int64_t i = thread.block() * kThreads + thread.index(); i < rows * runs.units;
         i += stride) {
      const int64_t row = i / runs.units;
      const auto at = runs.PlaceOf(i % runs.units);
      const auto sample = static_cast<uint64_t>(samples[row]);
      const std::array<uint32_t, 4> words =
          Philox(key, {static_cast<uint32_t>(at.block * kLanes + at.lane), place,
                       static_cast<uint32_t>(sample), static_cast<uint32_t>(sample >> 32)});
      T* const row_out = out + row * width + at.offset;
      for (int64_t draw = 0; draw < kPerCounter; ++draw) {
        const int64_t element = at.block * kLanes * kPerCounter + draw * kLanes + at.lane;
        if (element < at.begin || element >= at.end) continue;
        const uint32_t word = words[static_cast<size_t>(draw / 2)];
        const uint32_t value = draw % 2 == 0 ? word & 0xffff : word >> 16;
        row_out[element] = value < threshold ? T{0} : kept;
      }
    }
  }
};

template <typename T>
LaunchResult LaunchNormal(uint64_t key, double deviation, std::span<const ElementRun> rest, T* out,
                          Stream stream) {
  int64_t at = 0;
  while (!rest.empty()) {
    FillNormal<T> kernel{.key = key, .deviation = deviation, .runs = {}, .out = out};
    kernel.runs.Take(rest, at);
    const LaunchResult result =
        Launch(kernel, BlocksFor(kernel.runs.units, kernel.kThreads), stream);
    if (!result.ok()) return result;
  }
  return {};
}

template <typename T>
FillDropout<T> KernelOf(const DropoutMask& mask) {
  const double p = std::clamp(mask.probability, 0.0, 1.0);
  const auto threshold = static_cast<uint32_t>(std::lround(p * 65536.0));
  FillDropout<T> kernel{
      .key = MixKey(mask.seed ^ MixKey(static_cast<uint64_t>(mask.step))),
      .place = static_cast<uint32_t>(mask.layer) << 8 | static_cast<uint32_t>(mask.site & 0xff),
      .threshold = threshold,
      .kept = threshold >= 65536 ? T{0} : static_cast<T>(65536.0 / (65536.0 - threshold)),
      .rows = 0,
      .samples = {},
      .width = 0,
      .runs = {},
      .out = nullptr};
  for (const ElementRun& run : mask.runs) kernel.width += run.count;
  return kernel;
}

template <typename T>
LaunchResult LaunchDropout(const DropoutMask& mask, T* out, Stream stream) {
  FillDropout<T> kernel = KernelOf<T>(mask);
  for (size_t row = 0; row < mask.samples.size(); row += kSamples) {
    const auto samples = mask.samples.subspan(row, std::min(kSamples, mask.samples.size() - row));
    std::copy(samples.begin(), samples.end(), kernel.samples);
    kernel.rows = static_cast<int>(samples.size());
    kernel.out = out + static_cast<int64_t>(row) * kernel.width;
    std::span<const ElementRun> rest = mask.runs;
    for (int64_t at = 0; !rest.empty();) {
      kernel.runs = {};
      kernel.runs.Take(rest, at);
      const LaunchResult result =
          Launch(kernel, BlocksFor(kernel.rows * kernel.runs.units, kernel.kThreads), stream);
      if (!result.ok()) return result;
    }
  }
  return {};
}

}  // namespace

uint64_t FillKey(uint64_t seed, std::string_view name) { return MixKey(seed ^ Fnv1a(name)); }

LaunchResult LaunchFillNormal(uint64_t key, double deviation, std::span<const ElementRun> runs,
                              float* out, Stream stream) {
  return LaunchNormal(key, deviation, runs, out, stream);
}
LaunchResult LaunchFillNormal(uint64_t key, double deviation, std::span<const ElementRun> runs,
                              double* out, Stream stream) {
  return LaunchNormal(key, deviation, runs, out, stream);
}
LaunchResult LaunchFillDropout(const DropoutMask& mask, float* out, Stream stream) {
  return LaunchDropout(mask, out, stream);
}
LaunchResult LaunchFillDropout(const DropoutMask& mask, double* out, Stream stream) {
  return LaunchDropout(mask, out, stream);
}

}  // namespace muster::trainer::cuda
