#ifndef MUSTER_BASE_QUANTITY_H_
#define MUSTER_BASE_QUANTITY_H_

#include <cstdint>
#include <string_view>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"

namespace muster {

// A Kubernetes quantity ("500m", "1.5Gi", "2e3"), exact: a whole number of billionths, which is the
// precision the API server keeps. Accepts and refuses the same texts as k8s.io/apimachinery's
// ParseQuantity. Finer amounts are rounded away from zero; amounts beyond int64 are kept at the
// limit, and `IsAbsurd` is then true.
class Quantity {
 public:
  Quantity() = default;
  // kInvalidArgument if the text is no quantity.
  static absl::StatusOr<Quantity> Parse(std::string_view text);

  // The amount in units, and in thousandths; fractions are rounded up. Saturates at int64.
  int64_t Value() const;
  int64_t MilliValue() const;
  bool IsNegative() const { return nanos_ < 0; }
  // Returns true if the value is beyond int64.
  bool IsAbsurd() const;

  Quantity& operator+=(const Quantity& other);
  friend auto operator<=>(const Quantity& a, const Quantity& b) {
    return a.nanos_ < b.nanos_ ? -1 : a.nanos_ > b.nanos_ ? 1 : 0;
  }
  friend bool operator==(const Quantity& a, const Quantity& b) = default;

 private:
  explicit Quantity(absl::int128 nanos) : nanos_(nanos) {}

  absl::int128 nanos_ = 0;
};

}  // namespace muster

#endif  // MUSTER_BASE_QUANTITY_H_
