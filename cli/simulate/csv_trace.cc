// Reads the CSV form of a trace.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cli/simulate/sim_trace.h"
#include "operator/queue/book/queue_from_spec.h"

namespace muster::cli {
namespace {

const std::vector<std::string>& Columns() {
  static const auto* const kColumns = new std::vector<std::string>{
      "submit", "duration",   "workers",    "name",        "class",
      "queue",  "namespace",  "priority",   "min",         "gpus",
      "cpu",    "memory",     "estimate",   "require",     "prefer",
      "slice",  "sliceLevel", "checkpoint", "maxFraction", "onDemandFloor"};
  return *kColumns;
}

// One line of the table. The first error is kept.
class Row {
 public:
  Row(const std::vector<std::string>& header, const std::vector<std::string>& cells) {
    if (cells.size() != header.size()) {
      error_ = absl::StrCat("has ", cells.size(), " fields, the header has ", header.size());
      return;
    }
    for (size_t i = 0; i < header.size(); ++i) cells_[header[i]] = cells[i];
  }

  std::string Text(const char* column, const std::string& fallback = "") const {
    const auto found = cells_.find(column);
    return found == cells_.end() || found->second.empty() ? fallback : found->second;
  }
  bool IsEmpty(const char* column) const {
    const auto found = cells_.find(column);
    return found != cells_.end() && found->second.empty();
  }
  absl::Duration Seconds(const char* column, double fallback) {
    double seconds = fallback;
    const std::string text = Text(column);
    if (!text.empty() && (!absl::SimpleAtod(text, &seconds) || !(seconds >= 0) || seconds > 1e9)) {
      Fail(column, "must be seconds, 0 or more");
    }
    return absl::Seconds(seconds);
  }
  double Fraction(const char* column, double fallback) {
    double fraction = fallback;
    const std::string text = Text(column);
    if (!text.empty() &&
        (!absl::SimpleAtod(text, &fraction) || !(fraction >= 0 && fraction <= 1))) {
      Fail(column, "must be 0 to 1");
    }
    return fraction;
  }
  int64_t Integer(const char* column, int64_t fallback, int64_t least, int64_t most) {
    int64_t number = fallback;
    const std::string text = Text(column);
    if (!text.empty() && !absl::SimpleAtoi(text, &number)) Fail(column, "must be a whole number");
    if (number < least || number > most) {
      Fail(column, absl::StrCat("must be ", least, " to ", most));
    }
    return number;
  }
  int64_t Quantity(const char* column, const char* resource, const char* fallback) {
    const auto amount = control::AmountOf(resource, Text(column, fallback));
    if (!amount.ok()) Fail(column, amount.status().message());
    return amount.value_or(0);
  }
  void Fail(const char* column, absl::string_view message) {
    if (error_.empty()) error_ = absl::StrCat(column, ": ", message);
  }
  const std::string& error() const { return error_; }

 private:
  std::map<std::string, std::string> cells_;
  std::string error_;
};

SimJob ReadJob(Row& row, size_t number) {
  SimJob out;
  control::QueuedJob& job = out.job;
  job.name = row.Text("name", absl::StrCat("job-", number));
  // Names may repeat; equal times are ordered by UID.
  job.uid = absl::StrCat(job.name, "#", absl::Dec(number, absl::kZeroPad7));
  job.request.job = job.name;
  job.ns = row.Text("namespace", "default");
  job.queue = row.Text("queue");
  job.priority = row.Integer("priority", 0, -2'000'000'000, 2'000'000'000);
  job.created = absl::UnixEpoch() + row.Seconds("submit", 0);
  job.request.max = static_cast<int>(row.Integer("workers", 1, 1, 100'000));
  job.request.min = static_cast<int>(row.Integer("min", job.request.max, 1, job.request.max));
  job.request.required_level = row.Text("require");
  job.request.preferred_level = row.Text("prefer");
  if (const int64_t slice = row.Integer("slice", 0, 0, job.request.max); slice > 0) {
    job.request.slices.push_back({static_cast<int>(slice), row.Text("sliceLevel", "host")});
  }
  control::SpotBounds& spot = job.request.spot;
  spot.max_fraction = row.Fraction("maxFraction", 1);
  spot.on_demand_floor = static_cast<int>(row.Integer("onDemandFloor", 0, 0, job.request.max));
  spot.given = !row.Text("maxFraction").empty() || !row.Text("onDemandFloor").empty();
  control::Resources& each = job.request.per_worker;
  each.gpus = row.Integer("gpus", 0, 0, 64);
  each.cpu_millis = row.Quantity("cpu", kCpuResource, "1");
  each.memory_bytes = row.Quantity("memory", kMemoryResource, "1Gi");
  each.slots = 1;
  job.quota_per_worker = {{kGpuResource, each.gpus},
                          {kCpuResource, each.cpu_millis},
                          {kMemoryResource, each.memory_bytes}};
  out.job_class = row.Text("class", job.queue.empty() ? "all" : job.queue);
  out.duration = row.Seconds("duration", 0);
  // An empty estimate means none; a trace without the column has perfect estimates.
  if (!row.IsEmpty("estimate")) {
    job.runtime = row.Seconds("estimate", absl::ToDoubleSeconds(out.duration));
  }
  out.checkpoint_every = row.Seconds("checkpoint", 0);
  return out;
}

}  // namespace

absl::StatusOr<SimTrace> ParseCsvTrace(absl::string_view text, absl::string_view file) {
  SimTrace trace;
  std::vector<std::string> header;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> cells = absl::StrSplit(line, ',');
    for (std::string& cell : cells) cell = std::string(absl::StripAsciiWhitespace(cell));
    if (header.empty()) {
      for (const std::string& column : cells) {
        if (std::count(Columns().begin(), Columns().end(), column) > 0) continue;
        return absl::InvalidArgumentError(absl::StrCat(file, ":", number, ": there is no column \"",
                                                       column, "\"; there are ",
                                                       absl::StrJoin(Columns(), ", ")));
      }
      header = cells;
      continue;
    }
    Row row(header, cells);
    SimJob job = ReadJob(row, trace.jobs.size());
    if (!row.error().empty()) {
      return absl::InvalidArgumentError(absl::StrCat(file, ":", number, ": ", row.error()));
    }
    trace.jobs.push_back(std::move(job));
  }
  if (trace.jobs.empty()) return absl::InvalidArgumentError(absl::StrCat(file, ": has no jobs"));
  std::stable_sort(trace.jobs.begin(), trace.jobs.end(),
                   [](const SimJob& a, const SimJob& b) { return a.job.created < b.job.created; });
  return trace;
}

// A generator's file is a YAML map, whose first line, after any preamble, has a key. A table's
// first line holds the names of columns.
absl::StatusOr<SimTrace> ParseTrace(absl::string_view text, absl::string_view file) {
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");  // a byte order mark
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const bool marker = absl::ConsumePrefix(&line, "---");
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#' || line[0] == '%') continue;
    const bool is_map = marker || line[0] == '{' || absl::StrContains(line, ':');
    return is_map ? ParseGenerator(text, file) : ParseCsvTrace(text, file);
  }
  return absl::InvalidArgumentError(absl::StrCat(file, ": is empty"));
}

}  // namespace muster::cli
