#include "operator/cost/node_rates.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "operator/placement/cluster/spot_labels.h"

namespace muster::control {
namespace {

constexpr double kHighestPrice = 1e9;

// Returns 1 where the node has less than is asked for, which happens while it changes.
double Part(int64_t request, int64_t allocatable) {
  if (request <= 0) return 0;
  if (allocatable <= request) return 1;
  return static_cast<double>(request) / static_cast<double>(allocatable);
}

const PriceRow* RowOf(const SchedulingNode& node, const PriceTable& table) {
  if (table.rows.empty()) return nullptr;
  const auto row = table.rows.find(std::string(node.labels.Value(kInstanceTypeLabel)));
  return row == table.rows.end() ? nullptr : &row->second;
}

// Returns the node's own price; nothing if it has none or a bad one.
std::optional<double> OwnPrice(const SchedulingNode& node) {
  const std::string_view text = node.labels.Value(kPriceLabel);
  double price = 0;
  const bool sound = absl::SimpleAtod(absl::string_view(text.data(), text.size()), &price) &&
                     price >= 0 && price <= kHighestPrice;
  return sound ? std::optional<double>(price) : std::nullopt;
}

std::optional<double> Times(std::optional<double> value, double share) {
  if (value) *value *= share;
  return value;
}

}  // namespace

double GpuShare(const ResourceAmounts& requests, const SchedulingNode& node) {
  double share = 0;
  for (const auto& [name, amount] : requests.scalars) {
    if (!IsGpuResource(name)) continue;
    share = std::max(share, Part(amount, node.allocatable.scalar(name)));
  }
  return share;
}

double ShareOf(const ResourceAmounts& requests, const SchedulingNode& node) {
  const double gpus = GpuShare(requests, node);
  return gpus > 0 ? gpus : Part(requests.cpu_millis, node.allocatable.cpu_millis);
}

WorkerRates RatesOnNode(const ResourceAmounts& requests, const SchedulingNode& node,
                        const PriceTable& table, std::optional<double> gpu_watts) {
  const PriceRow* row = RowOf(node, table);
  const PriceRow prices = row == nullptr ? PriceRow() : *row;
  const bool spot = row != nullptr && IsSpotNode(node.labels);  // else it makes no difference
  const double share = ShareOf(requests, node);
  const std::optional<double> own = OwnPrice(node);
  WorkerRates rates;
  rates.per_hour = Times(own ? own : spot ? prices.spot_per_hour : prices.per_hour, share);
  if (spot) rates.on_demand_per_hour = Times(prices.per_hour, share);
  const bool measured = gpu_watts.has_value() && GpuShare(requests, node) > 0;
  rates.watts = Times(measured ? gpu_watts : prices.watts, share);
  return rates;
}

std::string PriceLabelFault(const SchedulingNode& node) {
  const std::string_view text = node.labels.Value(kPriceLabel);
  if (text.empty() || OwnPrice(node)) return "";
  return absl::StrCat("the label ", kPriceLabel, " is '", std::string(text),
                      "': want a number from 0 to 1e9, as 12.29");
}

}  // namespace muster::control
