#ifndef MUSTER_TRAINER_CUDA_KERNELS_KERNEL_TEST_UTIL_H_
#define MUSTER_TRAINER_CUDA_KERNELS_KERNEL_TEST_UTIL_H_

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "trainer/cuda/kernels/device_memory.h"
#include "trainer/cuda/kernels/launch_result.h"

namespace muster::trainer::cuda {

// Tests of kernels compute in double on values as the kernel reads them, and compare what it
// writes.

// Converts as the hardware does: round to nearest, ties to even. BF16 travels as its 16 bits.
inline uint16_t ToBfloat16(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  if (std::isnan(value)) return 0x7fff;
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
inline float FromBfloat16(uint16_t value) {
  const uint32_t bits = uint32_t{value} << 16;
  float result = 0;
  std::memcpy(&result, &bits, sizeof(result));
  return result;
}

// Elements of either type on the device. Tests choose values that the type holds exactly.
class DeviceValues {
 public:
  // Poisoned.
  DeviceValues(Element element, int64_t count, size_t shift = 0)
      : element_(element), bytes_(count * size(), shift * static_cast<size_t>(size())) {}
  DeviceValues(Element element, const std::vector<double>& values, size_t shift = 0)
      : DeviceValues(element, static_cast<int64_t>(values.size()), shift) {
    std::vector<float> floats(values.begin(), values.end());
    std::vector<uint16_t> halves;
    for (const float value : floats) halves.push_back(ToBfloat16(value));
    const void* from = element == Element::kFloat ? static_cast<const void*>(floats.data())
                                                  : static_cast<const void*>(halves.data());
    CopyToDevice(from, values.size() * static_cast<size_t>(size()), bytes_.data());
  }

  void* data() const { return bytes_.data(); }
  float* floats() const { return reinterpret_cast<float*>(bytes_.data()); }
  bool GuardHolds() const { return bytes_.GuardHolds(); }
  std::vector<double> Read() const {
    const std::vector<unsigned char> bytes = bytes_.Read();
    std::vector<double> values(bytes.size() / static_cast<size_t>(size()));
    for (size_t i = 0; i < values.size(); ++i) {
      float wide = 0;
      uint16_t narrow = 0;
      if (element_ == Element::kFloat) {
        std::memcpy(&wide, &bytes[i * sizeof(wide)], sizeof(wide));
      } else {
        std::memcpy(&narrow, &bytes[i * sizeof(narrow)], sizeof(narrow));
        wide = FromBfloat16(narrow);
      }
      values[i] = wide;
    }
    return values;
  }

 private:
  int64_t size() const { return element_ == Element::kFloat ? 4 : 2; }

  const Element element_;
  const DeviceArray<unsigned char> bytes_;
};

inline double Rounded(Element element, double value) {
  const auto narrow = static_cast<float>(value);
  return element == Element::kFloat ? narrow : FromBfloat16(ToBfloat16(narrow));
}

// Draws fresh numbers; its seed is shown where a test fails.
class Dice {
 public:
  uint64_t seed() const { return seed_; }
  std::vector<double> Normal(int64_t count, double deviation, Element element) {
    std::normal_distribution<double> normal(0.0, deviation);
    std::vector<double> values(static_cast<size_t>(count));
    for (double& value : values) value = Rounded(element, normal(engine_));
    return values;
  }
  int64_t Below(int64_t end) {
    return static_cast<int64_t>(engine_() % static_cast<uint64_t>(end));
  }

 private:
  const uint64_t seed_ = std::random_device()();
  std::mt19937_64 engine_{seed_};
};

// How far a value of the type may be from the exact one: rounding of the result, and of a sum of
// terms about as large as `scale`.
inline double Tolerance(Element element, double exact, double scale) {
  const double rounding = element == Element::kFloat ? 1e-6 : 1.0 / 256;
  return rounding * std::abs(exact) + 4e-6 * scale + 1e-30;
}

inline void ExpectNear(const DeviceValues& actual, const std::vector<double>& exact,
                       Element element, double scale, const std::string& what) {
  const std::vector<double> values = actual.Read();
  ASSERT_EQ(values.size(), exact.size()) << what;
  for (size_t i = 0; i < exact.size(); ++i) {
    const double error = std::abs(values[i] - exact[i]);
    ASSERT_TRUE(error <= Tolerance(element, exact[i], scale))
        << what << "[" << i << "]: " << values[i] << ", exactly " << exact[i];
  }
  EXPECT_TRUE(actual.GuardHolds()) << what;
}

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_KERNELS_KERNEL_TEST_UTIL_H_
