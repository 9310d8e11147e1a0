#include "operator/metrics/exposition.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "operator/metrics/metric_catalog.h"

namespace muster::control {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

// Returns the shortest text that parses to the same number.
std::string Number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char text[32];
  const auto result = std::to_chars(text, text + sizeof(text), value);
  return std::string(text, result.ptr);
}

// OpenMetrics wants the bounds of buckets recognisable as floats.
std::string Bound(double value, bool open) {
  std::string text = Number(value);
  if (open && text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

// Quotes are escaped in label values, and in OpenMetrics in help too.
std::string Escape(std::string_view text, bool quotes) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\\' || (quotes && c == '"')) {
      out += {'\\', c};
    } else {
      out += c;
    }
  }
  return out;
}

bool EndsWith(std::string_view text, std::string_view suffix) {
  return text.size() > suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

class Writer {
 public:
  explicit Writer(bool open) : open_(open) {}

  void Add(const MetricFamily& family) {
    Head(family);
    for (const ClientMetric& metric : family.metric) {
      switch (family.type) {
        case MetricType::Counter:
          Sample(family.name, metric, "", Number(metric.counter.value));
          break;
        case MetricType::Histogram:
          Histogram(family.name, metric);
          break;
        case MetricType::Gauge:
        case MetricType::Summary:
        case MetricType::Untyped:
          Sample(family.name, metric, "", Number(metric.gauge.value));
          break;
      }
    }
  }

  std::string Take() {
    if (open_) out_ += "# EOF\n";
    return std::move(out_);
  }

 private:
  void Head(const MetricFamily& family) {
    std::string name = family.name;
    if (open_ && family.type == MetricType::Counter && EndsWith(name, "_total")) {
      name.resize(name.size() - std::string_view("_total").size());
    }
    absl::StrAppend(&out_, "# TYPE ", name, " ", TypeName(family.type), "\n");
    for (const char* unit : {"seconds", "bytes"}) {
      if (open_ && EndsWith(name, std::string("_") + unit)) {
        absl::StrAppend(&out_, "# UNIT ", name, " ", unit, "\n");
      }
    }
    absl::StrAppend(&out_, "# HELP ", name, " ", Escape(family.help, open_), "\n");
  }

  // `le` is one more label, for buckets.
  void Sample(const std::string& name, const ClientMetric& metric, const std::string& le,
              const std::string& value) {
    out_ += name;
    char separator = '{';
    const auto add = [&](std::string_view key, std::string_view text) {
      absl::StrAppend(&out_, std::string(1, separator), std::string(key), "=\"",
                      Escape(text, /*quotes=*/true), "\"");
      separator = ',';
    };
    for (const ClientMetric::Label& label : metric.label) add(label.name, label.value);
    if (!le.empty()) add("le", le);
    absl::StrAppend(&out_, separator == ',' ? "} " : " ", value, "\n");
  }

  void Histogram(const std::string& name, const ClientMetric& metric) {
    for (const ClientMetric::Bucket& bucket : metric.histogram.bucket) {
      Sample(name + "_bucket", metric, Bound(bucket.upper_bound, open_),
             absl::StrCat(bucket.cumulative_count));
    }
    Sample(name + "_sum", metric, "", Number(metric.histogram.sample_sum));
    Sample(name + "_count", metric, "", absl::StrCat(metric.histogram.sample_count));
  }

  const bool open_;
  std::string out_;
};

std::string Write(const std::vector<MetricFamily>& families, bool open) {
  Writer writer(open);
  for (const MetricFamily& family : families) writer.Add(family);
  return writer.Take();
}

// Returns the weight of a media range, e.g. "application/x; version=1.0.0; q=0.5"; 1 if it has
// none.
double Weight(const std::vector<std::string>& parameters) {
  double weight = 1;
  for (const std::string& parameter : parameters) {
    const std::string text = absl::AsciiStrToLower(parameter);
    double value = 0;
    if (text.compare(0, 2, "q=") == 0)
      weight = absl::SimpleAtod(text.substr(2), &value) ? value : 0;
  }
  return weight;
}

}  // namespace

bool WantsOpenMetrics(std::string_view accept) {
  double open = 0;
  double text = 0;
  const std::string header(accept);
  for (const auto& range : absl::StrSplit(header, ',')) {
    std::vector<std::string> parts;
    for (const auto& part : absl::StrSplit(range, ';')) {
      parts.emplace_back(absl::StripAsciiWhitespace(part));
    }
    const std::string type = absl::AsciiStrToLower(parts.front());
    if (type == "application/openmetrics-text") open = std::max(open, Weight(parts));
    if (type == "text/plain") text = std::max(text, Weight(parts));
  }
  return open > 0 && open >= text;
}

std::string ToText(const std::vector<MetricFamily>& families) { return Write(families, false); }
std::string ToOpenMetrics(const std::vector<MetricFamily>& families) {
  return Write(families, true);
}

}  // namespace muster::control
