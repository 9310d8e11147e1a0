#include "operator/cost/price_table.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/yaml/config_reader.h"
#include "base/yaml/yaml_adapter.h"
#include "re2/re2.h"

namespace muster::control {
namespace {

// No machine costs or draws more.
constexpr double kMost = 1e9;

class Reader {
 public:
  explicit Reader(const YamlDocument& document) : fields_(document) {}

  // Returns a number above zero, or nothing.
  std::optional<double> Amount(const Json& row, const std::string& path, const std::string& name) {
    const std::optional<double> value = fields_.Number(row, path, name);
    if (!value || (*value > 0 && *value <= kMost)) return value;
    fields_.Fault(FieldPath(path, name), "want a number above 0, at most 1e9");
    return std::nullopt;
  }

  void ReadSpot(const Json& row, const std::string& path, PriceRow& price) {
    price.spot_per_hour = Amount(row, path, "spotPerHour");
    const std::optional<double> discount = fields_.Number(row, path, "spotDiscount");
    if (!discount) return;
    const std::string field = FieldPath(path, "spotDiscount");
    if (!(*discount >= 0 && *discount <= 1)) {
      fields_.Fault(field, "want a part of perHour, 0 to 1, as 0.6");
    } else if (row.contains("spotPerHour")) {
      fields_.Fault(field, "want either spotPerHour or spotDiscount");
    } else if (!row.contains("perHour")) {
      fields_.Fault(field, "want perHour, of which it is a part");
    } else if (price.per_hour) {
      price.spot_per_hour = *price.per_hour * (1 - *discount);
    }
  }

  void ReadRow(const Json& row, const std::string& path, PriceTable& table) {
    if (!row.is_object()) return fields_.Fault(path, "want an object with instanceType");
    fields_.RefuseOthers(row, path,
                         {"instanceType", "perHour", "spotDiscount", "spotPerHour", "watts"});
    const std::string type = fields_.Text(row, path, "instanceType").value_or("");
    const std::string type_field = FieldPath(path, "instanceType");
    if (type.empty()) {
      fields_.Fault(type_field, "want a value of the label node.kubernetes.io/instance-type");
    } else if (table.rows.count(type) > 0) {
      fields_.Fault(type_field, "is in a row before it");
    }
    PriceRow& price = table.rows[type];
    price.per_hour = Amount(row, path, "perHour");
    ReadSpot(row, path, price);
    price.watts = Amount(row, path, "watts");
    has_prices_ |= row.contains("perHour") || row.contains("spotPerHour");
    if (!row.contains("perHour") && !row.contains("spotPerHour") && !row.contains("watts")) {
      fields_.Fault(path, "want perHour, spotPerHour or watts");
    }
  }

  PriceTable ReadTable(const Json& json) {
    PriceTable table;
    fields_.RefuseOthers(json, "", {"currency", "prices"});
    table.currency = fields_.Text(json, "", "currency").value_or("");
    const Json rows = json.contains("prices") ? json["prices"] : Json::array();
    if (!rows.is_array()) fields_.Fault("prices", "want a list of rows, each with instanceType");
    for (size_t i = 0; rows.is_array() && i < rows.size() && i < kMaxPriceRows; ++i) {
      ReadRow(rows[i], absl::StrCat("prices[", i, "]"), table);
    }
    if (rows.size() > kMaxPriceRows) {
      fields_.Fault("prices", absl::StrCat("want at most ", kMaxPriceRows, " rows"));
    }
    static const LazyRE2 kCurrency = {"[A-Z]{3}"};
    const bool wanted = has_prices_ || json.contains("currency");
    if (wanted && !RE2::FullMatch(table.currency, *kCurrency)) {
      fields_.Fault("currency", "want three letters of ISO 4217, as USD");
    }
    return table;
  }

  absl::Status Result() const { return fields_.Result(); }

 private:
  ConfigReader fields_;
  bool has_prices_ = false;
};

}  // namespace

absl::StatusOr<PriceTable> ParsePriceTable(absl::string_view text) {
  const YamlDocument document = ParseYaml(text);
  if (!document.readable) return absl::InvalidArgumentError("the table of prices is not YAML");
  if (document.json.is_null()) return PriceTable();
  if (!document.json.is_object()) {
    return absl::InvalidArgumentError("want an object with currency and prices");
  }
  Reader reader(document);
  PriceTable table = reader.ReadTable(document.json);
  if (absl::Status status = reader.Result(); !status.ok()) return status;
  return table;
}

absl::StatusOr<PriceTable> LoadPriceTable(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(FileSystem(), path);
  if (!text.ok()) return absl::InvalidArgumentError(text.status().message());
  absl::StatusOr<PriceTable> table = ParsePriceTable(*text);
  if (table.ok()) return table;
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", table.status().message()));
}

}  // namespace muster::control
