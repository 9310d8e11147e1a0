#include "trainer/cuda/kernels/norm.h"

#include "trainer/cuda/kernels/elements.h"
#include "trainer/cuda/kernels/kernel.h"

namespace muster::trainer::cuda {
namespace {

// The rows whose share in the gradients of gain and bias one thread adds: row s, s + kStripes, ...
constexpr int kStripes = 64;
constexpr int kRowThreads = 256;

// One block per row. The row is read from memory once, and from the cache after that.
template <typename X, typename Y>
struct Forward {
  static constexpr int kThreads = kRowThreads;
  struct Shared {
    float sums[kThreads / kWarp];
    float squares[kThreads / kWarp];
  };

  NormForward norm;
  bool packed;

  MUSTER_DEVICE void operator()(const Thread& thread, Shared& shared) const {
    const int64_t begin = thread.block() * norm.width;
    const auto width = static_cast<float>(norm.width);
    const float total = AddResidual(thread, begin);
    const X* const values =
        (norm.residual ? static_cast<const X*>(norm.sum) : static_cast<const X*>(norm.x)) + begin;
    const float mean =
        norm.centered ? BlockSum<kThreads>(thread, total, shared.sums) / width : 0.0f;
    float squares = 0;
    ForEach(thread.index(), kThreads, norm.width, packed, [&](auto n, int64_t i) {
      float v[n];
      Load(values + i, v);
      for (int k = 0; k < n; ++k) squares += (v[k] - mean) * (v[k] - mean);
    });
    const float square = BlockSum<kThreads>(thread, squares, shared.squares) / width;
    const float scale = 1.0f / sqrtf(square + norm.epsilon);
    if (thread.index() == 0) {
      if (norm.centered) norm.mean[thread.block()] = mean;
      norm.scale[thread.block()] = scale;
    }
    Y* const y = static_cast<Y*>(norm.y) + begin;
    ForEach(thread.index(), kThreads, norm.width, packed, [&](auto n, int64_t i) {
      float v[n], gain[n], bias[n] = {};
      Load(values + i, v);
      Load(norm.gain + i, gain);
      if (norm.bias) Load(norm.bias + i, bias);
      for (int k = 0; k < n; ++k) v[k] = (v[k] - mean) * scale * gain[k] + bias[k];
      Store(v, y + i);
    });
  }

  // Writes this thread's share of x + residual, and returns the sum of what is to be normalized.
  MUSTER_DEVICE float AddResidual(const Thread& thread, int64_t begin) const {
    float total = 0;
    ForEach(thread.index(), kThreads, norm.width, packed, [&](auto n, int64_t i) {
      float v[n];
      Load(static_cast<const X*>(norm.x) + begin + i, v);
      if (norm.residual) {
        float r[n];
        Load(static_cast<const X*>(norm.residual) + begin + i, r);
        for (int k = 0; k < n; ++k) v[k] = ToFloat(FromFloat<X>(v[k] + r[k]));
        Store(v, static_cast<X*>(norm.sum) + begin + i);
      }
      for (int k = 0; k < n; ++k) total += v[k];
    });
    return total;
  }
};

// One block per row. With h = (x - mean) * scale and g = d_y * gain, the gradient of x is
// scale * (g - mean(g) - h * mean(g * h)); without the mean of g if the norm is not centered.
template <typename X, typename Y>
struct BackwardRow {
  static constexpr int kThreads = kRowThreads;
  struct Shared {
    float g[kThreads / kWarp];
    float gh[kThreads / kWarp];
  };

  NormBackward norm;
  bool packed;

  MUSTER_DEVICE void operator()(const Thread& thread, Shared& shared) const {
    const int64_t begin = thread.block() * norm.width;
    const auto width = static_cast<float>(norm.width);
    const X* const x = static_cast<const X*>(norm.x) + begin;
    const Y* const d_y = static_cast<const Y*>(norm.d_y) + begin;
    const float scale = norm.scale[thread.block()];
    const float mean = norm.centered ? norm.mean[thread.block()] : 0.0f;
    float g_sum = 0, gh_sum = 0;
    auto load = [&](auto n, int64_t i, float* h, float* g) {
      float v[n], d[n], gain[n];
      Load(x + i, v);
      Load(d_y + i, d);
      Load(norm.gain + i, gain);
      for (int k = 0; k < n; ++k) h[k] = (v[k] - mean) * scale;
      for (int k = 0; k < n; ++k) g[k] = d[k] * gain[k];
    };
    ForEach(thread.index(), kThreads, norm.width, packed, [&](auto n, int64_t i) {
      float h[n], g[n];
      load(n, i, h, g);
      for (int k = 0; k < n; ++k) g_sum += g[k];
      for (int k = 0; k < n; ++k) gh_sum += g[k] * h[k];
    });
    const float g_all = BlockSum<kThreads>(thread, g_sum, shared.g);
    const float gh_mean = BlockSum<kThreads>(thread, gh_sum, shared.gh) / width;
    const float g_mean = norm.centered ? g_all / width : 0.0f;
    ForEach(thread.index(), kThreads, norm.width, packed, [&](auto n, int64_t i) {
      float h[n], g[n], more[n] = {};
      load(n, i, h, g);
      if (norm.d_sum) Load(static_cast<const X*>(norm.d_sum) + begin + i, more);
      for (int k = 0; k < n; ++k) g[k] = scale * (g[k] - g_mean - h[k] * gh_mean) + more[k];
      Store(g, static_cast<X*>(norm.d_x) + begin + i);
    });
  }
};

// A thread adds one column of one stripe of rows.
template <typename X, typename Y>
struct BackwardStripe {
  static constexpr int kThreads = 256;
  struct Shared {};

  NormBackward norm;
  int64_t tiles;  // blocks that together hold a row

  MUSTER_DEVICE void operator()(const Thread& thread, Shared&) const {
    const int64_t column = thread.block() % tiles * kThreads + thread.index();
    const int64_t stripe = thread.block() / tiles;
    if (column >= norm.width) return;
    float gain = 0, bias = 0;
    for (int64_t row = stripe; row < norm.rows; row += kStripes) {
      const int64_t i = row * norm.width + column;
      const float d = ToFloat(static_cast<const Y*>(norm.d_y)[i]);
      const float mean = norm.centered ? norm.mean[row] : 0.0f;
      gain += d * ((ToFloat(static_cast<const X*>(norm.x)[i]) - mean) * norm.scale[row]);
      bias += d;
    }
    norm.workspace[stripe * norm.width + column] = gain;
    norm.workspace[(kStripes + stripe) * norm.width + column] = bias;
  }
};

struct AddStripes {
  static constexpr int kThreads = 256;
  struct Shared {};

  const float* workspace;
  int64_t width;
  float* d_gain;
  float* d_bias;

  MUSTER_DEVICE void operator()(const Thread& thread, Shared&) const {
    const int64_t column = thread.block() * kThreads + thread.index();
    if (column >= width) return;
    float gain = 0, bias = 0;
    for (int stripe = 0; stripe < kStripes; ++stripe) {
      gain += workspace[stripe * width + column];
      bias += workspace[(kStripes + stripe) * width + column];
    }
    d_gain[column] = gain;
    if (d_bias) d_bias[column] = bias;
  }
};

// Calls `body` with null pointers of the two types.
template <typename Body>
LaunchResult WithTypes(Element stream, Element result, const Body& body) {
  return WithElement(
      stream, [&](auto* x) { return WithElement(result, [&](auto* y) { return body(x, y); }); });
}

template <typename X, typename Y, typename Norm>
bool IsPacked(const Norm& norm, std::initializer_list<const void*> stream,
              std::initializer_list<const void*> result) {
  return norm.width % kPack == 0 && ArePacked<X>(stream) && ArePacked<Y>(result) &&
         ArePacked<float>({norm.gain});
}

}  // namespace

LaunchResult LaunchNormForward(const NormForward& norm, Stream stream) {
  return WithTypes(norm.stream, norm.result, [&]<typename X, typename Y>(X*, Y*) {
    const bool packed = IsPacked<X, Y>(norm, {norm.x, norm.residual, norm.sum}, {norm.y}) &&
                        ArePacked<float>({norm.bias});
    return Launch(Forward<X, Y>{norm, packed}, norm.rows, stream);
  });
}

int64_t NormBackwardWorkspace(int64_t width) { return 2 * kStripes * width; }

LaunchResult LaunchNormBackward(const NormBackward& norm, Stream stream) {
  const int64_t tiles = (norm.width + kRowThreads - 1) / kRowThreads;
  const LaunchResult rows =
      WithTypes(norm.stream, norm.result, [&]<typename X, typename Y>(X*, Y*) {
        const bool packed = IsPacked<X, Y>(norm, {norm.x, norm.d_sum, norm.d_x}, {norm.d_y});
        const LaunchResult result = Launch(BackwardRow<X, Y>{norm, packed}, norm.rows, stream);
        if (!result.ok()) return result;
        return Launch(BackwardStripe<X, Y>{norm, tiles}, kStripes * tiles, stream);
      });
  if (!rows.ok()) return rows;
  return Launch(AddStripes{norm.workspace, norm.width, norm.d_gain, norm.d_bias}, tiles, stream);
}

}  // namespace muster::trainer::cuda
