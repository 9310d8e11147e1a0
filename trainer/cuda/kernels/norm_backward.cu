#include <algorithm>
#include <cstdint>

#include "trainer/cuda/kernels/add_shares.h"
#include "trainer/cuda/kernels/elements.h"
#include "trainer/cuda/kernels/kernel.h"
#include "trainer/cuda/kernels/norm.h"
#include "trainer/cuda/kernels/norm_team.h"

namespace muster::trainer::cuda {
namespace {

// With h = (x - mean) * scale and g = d_y * gain, the gradient of x is
// scale * (g - mean(g) - h * mean(g * h)); without the mean of g if the norm is not centered. A
// team goes through many rows, and adds their shares in the gradients of gain and bias on the way.
template <typename X, typename Y, typename T>
struct TeamBackward {
  static constexpr int kThreads = T::kThreads;
  using Packs = typename T::Packs;
  struct Shared {
    float g[kThreads / kWarp];
    float gh[kThreads / kWarp];
    float gain[T::kTeams > 1 ? T::kWidest : 1];
    float bias[T::kTeams > 1 ? T::kWidest : 1];
  };

  NormBackward norm;

  MUSTER_DEVICE void operator()(const Thread& thread, Shared& shared) const {
    Packs gain = {}, bias = {};
    const int team = thread.index() / T::kTeam;
    for (int64_t row = thread.block() * T::kTeams + team; row < norm.rows;
         row += thread.blocks() * T::kTeams) {
      AddRow(thread, row, shared, gain, bias);
    }
    float* const to_gain = norm.workspace + thread.block() * norm.width;
    float* const to_bias = to_gain + thread.blocks() * norm.width;
    if constexpr (T::kTeams == 1) {
      T::ForEachPack(thread, norm.width, [&](int p, int i) {
        Store(gain[p], to_gain + i);
        Store(bias[p], to_bias + i);
      });
    } else {
      T::AddTeams(thread, norm.width, gain, shared.gain);
      T::AddTeams(thread, norm.width, bias, shared.bias);
      for (int i = thread.index(); i < norm.width; i += kThreads) {
        to_gain[i] = shared.gain[i];
        to_bias[i] = shared.bias[i];
      }
    }
  }

  MUSTER_DEVICE void AddRow(const Thread& thread, int64_t row, Shared& shared, Packs& d_gain,
                            Packs& d_bias) const {
    const int64_t begin = row * norm.width;
    const auto width = static_cast<float>(norm.width);
    const float scale = norm.scale[row];
    const float mean = norm.centered ? norm.mean[row] : 0.0f;
    Packs h, g, more = {};
    float g_sum = 0, gh_sum = 0;
    T::ForEachPack(thread, norm.width, [&](int p, int i) {
      float gain[kPack];
      Load(static_cast<const X*>(norm.x) + begin + i, h[p]);
      Load(static_cast<const Y*>(norm.d_y) + begin + i, g[p]);
      Load(norm.gain + i, gain);
      if (norm.d_sum) Load(static_cast<const X*>(norm.d_sum) + begin + i, more[p]);
      for (int k = 0; k < kPack; ++k) {
        h[p][k] = (h[p][k] - mean) * scale;
        d_gain[p][k] += g[p][k] * h[p][k];
        d_bias[p][k] += g[p][k];
        g[p][k] *= gain[k];
        g_sum += g[p][k];
        gh_sum += g[p][k] * h[p][k];
      }
    });
    const float g_all = T::Sum(thread, g_sum, shared.g);
    const float gh_mean = T::Sum(thread, gh_sum, shared.gh) / width;
    const float g_mean = norm.centered ? g_all / width : 0.0f;
    T::ForEachPack(thread, norm.width, [&](int p, int i) {
      for (int k = 0; k < kPack; ++k) {
        g[p][k] = scale * (g[p][k] - g_mean - h[p][k] * gh_mean) + more[p][k];
      }
      Store(g[p], static_cast<X*>(norm.d_x) + begin + i);
      if (norm.d_branch) Store(g[p], static_cast<Y*>(norm.d_branch) + begin + i);
    });
  }
};

// The gradient of x, as TeamBackward's, with one block per row of any width and address.
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
      if (norm.d_branch) Store(g, static_cast<Y*>(norm.d_branch) + begin + i);
    });
  }
};

// The gradients of gain and bias, as TeamBackward's: a thread adds one column of every
// shares'th row.
template <typename X, typename Y>
struct BackwardColumns {
  static constexpr int kThreads = 256;
  struct Shared {};

  NormBackward norm;
  int64_t tiles;  // blocks that together hold a row
  int64_t shares;

  MUSTER_DEVICE void operator()(const Thread& thread, Shared&) const {
    const int64_t column = thread.block() % tiles * kThreads + thread.index();
    const int64_t share = thread.block() / tiles;
    if (column >= norm.width) return;
    float gain = 0, bias = 0;
    for (int64_t row = share; row < norm.rows; row += shares) {
      const int64_t i = row * norm.width + column;
      const float d = ToFloat(static_cast<const Y*>(norm.d_y)[i]);
      const float mean = norm.centered ? norm.mean[row] : 0.0f;
      gain += d * ((ToFloat(static_cast<const X*>(norm.x)[i]) - mean) * norm.scale[row]);
      bias += d;
    }
    norm.workspace[share * norm.width + column] = gain;
    norm.workspace[(shares + share) * norm.width + column] = bias;
  }
};

// Adds the shares of gain and bias that are in the workspace.
LaunchResult LaunchShares(const NormBackward& norm, int64_t shares, Stream stream) {
  return LaunchAddShares({.shares = norm.workspace,
                          .count = shares,
                          .width = norm.width,
                          .first = norm.d_gain,
                          .second = norm.d_bias},
                         stream);
}

template <typename X, typename Y, typename T>
LaunchResult LaunchTeams(const NormBackward& norm, Stream stream) {
  const int64_t shares = std::min(T::kShares, (norm.rows + T::kTeams - 1) / T::kTeams);
  const LaunchResult result = Launch(TeamBackward<X, Y, T>{norm}, shares, stream);
  return result.ok() ? LaunchShares(norm, shares, stream) : result;
}

template <typename X, typename Y>
LaunchResult LaunchBackward(const NormBackward& norm, Stream stream) {
  const bool packed =
      IsPacked<X, Y>(norm, {norm.x, norm.d_sum, norm.d_x}, {norm.d_y, norm.d_branch});
  if constexpr (kHasTeams<X, Y>) {
    if (packed && norm.width <= kWidestOfTeams && ArePacked<float>({norm.workspace})) {
      return WithTeam(norm.width,
                      [&]<typename T>(T) { return LaunchTeams<X, Y, T>(norm, stream); });
    }
  }
  const LaunchResult rows = Launch(BackwardRow<X, Y>{norm, packed}, norm.rows, stream);
  if (!rows.ok()) return rows;
  const int64_t tiles = (norm.width + kRowThreads - 1) / kRowThreads;
  const int64_t shares = std::min(kMostShares, norm.rows);
  const LaunchResult columns =
      Launch(BackwardColumns<X, Y>{norm, tiles, shares}, shares * tiles, stream);
  return columns.ok() ? LaunchShares(norm, shares, stream) : columns;
}

}  // namespace

int64_t NormBackwardWorkspace(int64_t width) { return 2 * kMostShares * width; }

LaunchResult LaunchNormBackward(const NormBackward& norm, Stream stream) {
  return WithTypes(norm.stream, norm.result, [&]<typename X, typename Y>(X*, Y*) {
    return LaunchBackward<X, Y>(norm, stream);
  });
}

}  // namespace muster::trainer::cuda
