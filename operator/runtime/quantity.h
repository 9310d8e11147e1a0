#ifndef MUSTER_OPERATOR_RUNTIME_QUANTITY_H_
#define MUSTER_OPERATOR_RUNTIME_QUANTITY_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace muster::control {

// A Kubernetes quantity ("500m", "2", "1.5Gi", "1e3") in thousandths, rounded up as the API server
// does. kInvalidArgument for anything else, negative amounts included; saturates at int64.
absl::StatusOr<int64_t> ParseQuantityMillis(std::string_view text);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RUNTIME_QUANTITY_H_
