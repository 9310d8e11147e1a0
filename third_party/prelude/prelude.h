// Read through a precompiled header only (prelude.bzl): no file of ours includes it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "google/protobuf/generated_message_util.h"
#include "google/protobuf/map_field.h"
#include "google/protobuf/message.h"
#include "nlohmann/json.hpp"

// Instantiates the templates that many files use, once for all of them.
namespace muster::prelude {

using Json = nlohmann::json;

inline Json UsesOfJson(const std::string& text, const char* literal) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  json["parsed"] = Json::parse(literal);
  json["dumped"] = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return json;
}

}  // namespace muster::prelude
