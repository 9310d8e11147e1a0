#include "trainer/random/fill.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "base/hash.h"
#include "trainer/random/philox.h"

namespace muster::trainer {
namespace {

template <typename T>
void FillNormalImpl(uint64_t seed, std::string_view name, double deviation, std::span<T> out) {
  const uint64_t key = MixKey(seed ^ Fnv1a(name));
  for (size_t i = 0; i < out.size(); i += 2) {
    const uint64_t pair = i / 2;
    const std::array<uint32_t, 4> words =
        Philox(key, {static_cast<uint32_t>(pair), static_cast<uint32_t>(pair >> 32), 0, 0x1717});
    // 53 bits each; the first is kept above zero for the logarithm.
    const double u = (static_cast<double>((uint64_t{words[0]} << 21) ^ (words[1] >> 11)) + 0.5) /
                     9007199254740992.0;
    const double v =
        static_cast<double>((uint64_t{words[2]} << 21) ^ (words[3] >> 11)) / 9007199254740992.0;
    const double radius = deviation * std::sqrt(-2.0 * std::log(u));
    const double angle = 2.0 * std::numbers::pi * v;
    out[i] = static_cast<T>(radius * std::cos(angle));
    if (i + 1 < out.size()) out[i + 1] = static_cast<T>(radius * std::sin(angle));
  }
}

// Eight Philox counters side by side: the compiler turns the inner loops into vector code.
constexpr size_t kLanes = 8;
constexpr size_t kPerCounter = 8;  // 16-bit draws from 128 bits

void PhiloxLanes(uint64_t key, uint32_t first, uint32_t c1, uint32_t c2, uint32_t c3,
                 uint32_t (&out)[4][kLanes]) {
  auto k0 = static_cast<uint32_t>(key);
  auto k1 = static_cast<uint32_t>(key >> 32);
  for (size_t l = 0; l < kLanes; ++l) {
    out[0][l] = first + static_cast<uint32_t>(l);
    out[1][l] = c1;
    out[2][l] = c2;
    out[3][l] = c3;
  }
  for (int round = 0; round < 10; ++round) {
    for (size_t l = 0; l < kLanes; ++l) {
      const uint64_t p0 = uint64_t{0xD2511F53} * out[0][l];
      const uint64_t p1 = uint64_t{0xCD9E8D57} * out[2][l];
      out[0][l] = static_cast<uint32_t>(p1 >> 32) ^ out[1][l] ^ k0;
      out[1][l] = static_cast<uint32_t>(p1);
      out[2][l] = static_cast<uint32_t>(p0 >> 32) ^ out[3][l] ^ k1;
      out[3][l] = static_cast<uint32_t>(p0);
    }
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
}

template <typename T>
void FillDropoutImpl(const DropoutKey& key, double p, std::span<const int64_t> samples,
                     std::span<T> out) {
  if (samples.empty()) return;
  const size_t row = out.size() / samples.size();
  const auto threshold = static_cast<uint32_t>(std::lround(std::clamp(p, 0.0, 1.0) * 65536.0));
  const T scale = threshold >= 65536 ? T{0} : static_cast<T>(65536.0 / (65536.0 - threshold));
  const uint64_t philox_key = MixKey(key.seed ^ MixKey(static_cast<uint64_t>(key.step)));
  const auto place = static_cast<uint32_t>(key.layer) << 8 | static_cast<uint32_t>(key.site & 0xff);
  uint32_t words[4][kLanes];
  T values[kLanes * kPerCounter];
  for (size_t r = 0; r < samples.size(); ++r) {
    const auto sample = static_cast<uint64_t>(samples[r]);
    T* row_out = out.data() + r * row;
    for (size_t i = 0; i < row; i += kLanes * kPerCounter) {
      PhiloxLanes(philox_key, static_cast<uint32_t>(i / kPerCounter), place,
                  static_cast<uint32_t>(sample), static_cast<uint32_t>(sample >> 32), words);
      for (size_t w = 0; w < 4; ++w) {
        for (size_t l = 0; l < kLanes; ++l) {
          values[(2 * w) * kLanes + l] = (words[w][l] & 0xffff) < threshold ? T{0} : scale;
          values[(2 * w + 1) * kLanes + l] = (words[w][l] >> 16) < threshold ? T{0} : scale;
        }
      }
      std::copy_n(values, std::min(row - i, kLanes * kPerCounter), row_out + i);
    }
  }
}

}  // namespace

void FillNormal(uint64_t seed, std::string_view name, double deviation, std::span<float> out) {
  FillNormalImpl(seed, name, deviation, out);
}
void FillNormal(uint64_t seed, std::string_view name, double deviation, std::span<double> out) {
  FillNormalImpl(seed, name, deviation, out);
}
void FillDropout(const DropoutKey& key, double p, std::span<const int64_t> samples,
                 std::span<float> out) {
  FillDropoutImpl(key, p, samples, out);
}
void FillDropout(const DropoutKey& key, double p, std::span<const int64_t> samples,
                 std::span<double> out) {
  FillDropoutImpl(key, p, samples, out);
}

}  // namespace muster::trainer
