#ifndef MUSTER_OPERATOR_COST_PRICE_TABLE_H_
#define MUSTER_OPERATOR_COST_PRICE_TABLE_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::control {

// The price and the power of one instance type. Absent: not known.
struct PriceRow {
  std::optional<double> per_hour;       // of a node that is no spot node
  std::optional<double> spot_per_hour;  // of a spot node
  std::optional<double> watts;          // of the whole node at work
};

// The administrator's prices of nodes.
struct PriceTable {
  std::string currency;                  // as in ISO 4217; empty: the table has no prices
  std::map<std::string, PriceRow> rows;  // by the label node.kubernetes.io/instance-type
};

inline constexpr size_t kMaxPriceRows = 10'000;

// Parses the administrator's table, which is YAML:
//
//   currency: USD
//   prices:
//   - {instanceType: p5.48xlarge, perHour: 98.32, spotDiscount: 0.6, watts: 10200}
//   - {instanceType: g2-standard-4, perHour: 0.71, spotPerHour: 0.25}
//
// `spotDiscount` is the part of perHour, 0 to 1, that a spot node costs less. The error lists every
// fault with its line. Pure.
absl::StatusOr<PriceTable> ParsePriceTable(absl::string_view text);

// Reads the table from a file. The error names the file and the faults.
absl::StatusOr<PriceTable> LoadPriceTable(const std::string& path);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_COST_PRICE_TABLE_H_
