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

// Draws elements 2 * pair and 2 * pair + 1.
std::array<double, 2> NormalPair(uint64_t key, uint64_t pair, double deviation) {
  const std::array<uint32_t, 4> words =
      Philox(key, {static_cast<uint32_t>(pair), static_cast<uint32_t>(pair >> 32), 0, 0x1717});
  // 53 bits each; the first is kept above zero for the logarithm.
  const double u = (static_cast<double>((uint64_t{words[0]} << 21) ^ (words[1] >> 11)) + 0.5) /
                   9007199254740992.0;
  const double v =
      static_cast<double>((uint64_t{words[2]} << 21) ^ (words[3] >> 11)) / 9007199254740992.0;
  const double radius = deviation * std::sqrt(-2.0 * std::log(u));
  const double angle = 2.0 * std::numbers::pi * v;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

template <typename T>
void FillNormalImpl(const NormalKey& named, std::span<const ElementRun> runs, std::span<T> out) {
  const uint64_t key = MixKey(named.seed ^ Fnv1a(named.name));
  T* next = out.data();
  for (const ElementRun& run : runs) {
    const int64_t end = run.begin + run.count;
    for (int64_t i = run.begin; i < end;) {
      const std::array<double, 2> pair =
          NormalPair(key, static_cast<uint64_t>(i) / 2, named.deviation);
      do {
        *next++ = static_cast<T>(pair[static_cast<size_t>(i % 2)]);
      } while (++i < end && i % 2 == 1);
    }
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

// The masks of one dropout. A block is what PhiloxLanes draws at once.
template <typename T>
class DropoutBlocks {
 public:
  static constexpr int64_t kElements = kLanes * kPerCounter;

  DropoutBlocks(const DropoutKey& key, double p)
      : key_(MixKey(key.seed ^ MixKey(static_cast<uint64_t>(key.step)))),
        place_(static_cast<uint32_t>(key.layer) << 8 | static_cast<uint32_t>(key.site & 0xff)),
        threshold_(static_cast<uint32_t>(std::lround(std::clamp(p, 0.0, 1.0) * 65536.0))),
        scale_(threshold_ >= 65536 ? T{0} : static_cast<T>(65536.0 / (65536.0 - threshold_))) {}

  void Draw(uint64_t sample, int64_t block, T (&values)[kElements]) const {
    uint32_t words[4][kLanes];
    PhiloxLanes(key_, static_cast<uint32_t>(block * kLanes), place_, static_cast<uint32_t>(sample),
                static_cast<uint32_t>(sample >> 32), words);
    for (size_t w = 0; w < 4; ++w) {
      for (size_t l = 0; l < kLanes; ++l) {
        values[(2 * w) * kLanes + l] = (words[w][l] & 0xffff) < threshold_ ? T{0} : scale_;
        values[(2 * w + 1) * kLanes + l] = (words[w][l] >> 16) < threshold_ ? T{0} : scale_;
      }
    }
  }

 private:
  const uint64_t key_;
  const uint32_t place_;
  const uint32_t threshold_;
  const T scale_;
};

template <typename T>
void FillDropoutImpl(const DropoutKey& key, double p, std::span<const int64_t> samples,
                     std::span<const ElementRun> runs, std::span<T> out) {
  constexpr int64_t kBlock = DropoutBlocks<T>::kElements;
  const DropoutBlocks<T> blocks(key, p);
  T values[kBlock];
  T* next = out.data();
  for (const int64_t sample : samples) {
    for (const ElementRun& run : runs) {
      const int64_t end = run.begin + run.count;
      for (int64_t i = run.begin; i < end;) {
        blocks.Draw(static_cast<uint64_t>(sample), i / kBlock, values);
        const int64_t count = std::min(end - i, kBlock - i % kBlock);
        next = std::copy_n(values + i % kBlock, count, next);
        i += count;
      }
    }
  }
}

}  // namespace

void FillNormal(const NormalKey& key, std::span<const ElementRun> runs, std::span<float> out) {
  FillNormalImpl(key, runs, out);
}
void FillNormal(const NormalKey& key, std::span<const ElementRun> runs, std::span<double> out) {
  FillNormalImpl(key, runs, out);
}
void FillDropout(const DropoutKey& key, double p, std::span<const int64_t> samples,
                 std::span<const ElementRun> runs, std::span<float> out) {
  FillDropoutImpl(key, p, samples, runs, out);
}
void FillDropout(const DropoutKey& key, double p, std::span<const int64_t> samples,
                 std::span<const ElementRun> runs, std::span<double> out) {
  FillDropoutImpl(key, p, samples, runs, out);
}

}  // namespace muster::trainer
