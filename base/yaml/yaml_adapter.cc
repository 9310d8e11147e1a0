#include "base/yaml/yaml_adapter.h"

#include <exception>
#include <optional>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/field_error.h"
#include "base/utf8.h"
#include "base/yaml/yaml_scalar.h"
#include "yaml-cpp/eventhandler.h"
#include "yaml-cpp/exceptions.h"
#include "yaml-cpp/mark.h"
#include "yaml-cpp/parser.h"

namespace muster {
namespace {

constexpr size_t kMaxKeyBytes = 1024;
constexpr size_t kMaxErrors = 100;
constexpr char kStringTag[] = "tag:yaml.org,2002:str";

struct Cost {
  size_t nodes = 0;
  size_t bytes = 0;
};

// A list or map whose end has not been reached.
struct Frame {
  Json value;
  SourceNode source;
  YAML::anchor_t anchor = 0;
  Cost start;  // the total spent when it began
  bool has_key = false;
  std::string key;
  int key_line = 0;
};

// Builds one document from yaml-cpp's events. After the first fatal error it ignores the rest.
class Builder final : public YAML::EventHandler {
 public:
  explicit Builder(const YamlLimits& limits) : limits_(limits) {}

  void OnDocumentStart(const YAML::Mark& mark) override { start_ = mark; }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (fatal_) return;
    if (ExpectsKey()) return Fail(mark, "a key is missing before \":\"");
    Emit(Json(), SourceNode{Line(mark), {}, {}}, anchor, Spend(mark, 1, 0));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (fatal_) return;
    const bool plain = tag == "?" || tag.empty();
    if (ExpectsKey()) return TakeKey(mark, value, plain);
    if (plain && limits_.as_kubectl) CheckAmbiguous(mark, value);
    if (!plain && tag != "!" && tag != kStringTag) return FailTag(mark, tag);
    const Cost before = Spend(mark, 1, value.size());
    Emit(plain ? ResolvePlainScalar(value) : Json(value), SourceNode{Line(mark), {}, {}}, anchor,
         before);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (fatal_) return;
    if (ExpectsKey()) return Fail(mark, "an alias cannot be a key");
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) return Fail(mark, "an alias cannot stand inside what it repeats");
    const Cost before = Spend(mark, found->second.second.nodes, found->second.second.bytes);
    if (!fatal_) Emit(found->second.first, SourceNode{Line(mark), {}, {}}, 0, before);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Begin(mark, tag, anchor, Json::array());
  }
  void OnSequenceEnd() override { End(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Begin(mark, tag, anchor, Json::object());
  }
  void OnMapEnd() override { End(); }

  bool fatal() const { return fatal_; }
  // Returns the position of the document's first token.
  const YAML::Mark& start() const { return start_; }
  Json TakeJson() { return std::move(root_); }
  SourceNode TakeSource() { return std::move(root_source_); }
  std::vector<YamlError> TakeErrors() { return std::move(errors_); }

 private:
  static int Line(const YAML::Mark& mark) { return mark.line + 1; }

  bool ExpectsKey() const {
    return !frames_.empty() && frames_.back().value.is_object() && !frames_.back().has_key;
  }

  void Fail(const YAML::Mark& mark, std::string message) {
    fatal_ = true;
    errors_.push_back({Line(mark), "", std::move(message)});
  }

  void FailTag(const YAML::Mark& mark, absl::string_view tag) {
    Fail(mark, absl::StrCat("the tag ", tag.substr(0, 80), " is not supported; leave it out"));
  }

  // Returns the total spent before.
  Cost Spend(const YAML::Mark& mark, size_t nodes, size_t bytes) {
    const Cost before = spent_;
    spent_.nodes += nodes;
    spent_.bytes += bytes;
    if (!fatal_ && (spent_.nodes > limits_.nodes || spent_.bytes > limits_.expanded_bytes)) {
      Fail(mark, absl::StrCat("too large: with all aliases written out it has more than ",
                              limits_.nodes, " values or ", limits_.expanded_bytes, " bytes"));
    }
    return before;
  }

  void CheckAmbiguous(const YAML::Mark& mark, const std::string& text) {
    const std::optional<Json> other = OtherValueForKubectl(text);
    if (!other.has_value()) return;
    const std::string read = DumpJson(*other);
    AddError(Line(mark), PathOfNext(),
             absl::StrCat("kubectl reads ", text, " as ", read, ", YAML 1.2 as text; write ", read,
                          " or \"", text, "\""));
  }

  // kubectl makes text of a key's value: "true" of yes, "16" of 0x10.
  void CheckAmbiguousKey(const YAML::Mark& mark, const std::string& key) {
    const Json value = OtherValueForKubectl(key).value_or(ResolvePlainScalar(key));
    const std::string read = value.is_string() ? key : DumpJson(value);
    if (read == key) return;
    AddError(Line(mark), FieldPath(Path(), key),
             absl::StrCat("kubectl reads the key ", key, " as ", read, "; write \"", key, "\""));
  }

  void TakeKey(const YAML::Mark& mark, const std::string& key, bool plain) {
    if (key.size() > kMaxKeyBytes) return Fail(mark, "a key is longer than 1024 bytes");
    if (plain && limits_.as_kubectl) CheckAmbiguousKey(mark, key);
    Frame& frame = frames_.back();
    const auto earlier = frame.source.fields.find(key);
    if (earlier != frame.source.fields.end()) {
      AddError(Line(mark), FieldPath(Path(), key),
               absl::StrCat("given twice; the first is on line ", earlier->second.line));
    } else if (key == "<<") {
      AddError(Line(mark), FieldPath(Path(), key),
               "merge keys are not supported; write the fields out");
    }
    frame.has_key = true;
    frame.key = key;
    frame.key_line = Line(mark);
    Spend(mark, 0, key.size());
  }

  void AddError(int line, std::string path, std::string message) {
    if (errors_.size() < kMaxErrors) {
      errors_.push_back({line, std::move(path), std::move(message)});
    }
  }

  // Returns the path of the innermost open list or map.
  std::string Path() const {
    std::string path;
    for (size_t i = 0; i + 1 < frames_.size(); ++i) {
      path = frames_[i].value.is_object() ? FieldPath(path, frames_[i].key)
                                          : ItemPath(path, frames_[i].value.size());
    }
    return path;
  }

  // Returns the path of the value that comes next.
  std::string PathOfNext() const {
    if (frames_.empty()) return "";
    const Frame& last = frames_.back();
    return last.value.is_object() ? FieldPath(Path(), last.key)
                                  : ItemPath(Path(), last.value.size());
  }

  void Begin(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Json empty) {
    if (fatal_) return;
    if (ExpectsKey()) return Fail(mark, "a key must be a word, not a list or a map");
    if (tag != "?" && tag != "!" && !tag.empty() && !absl::StartsWith(tag, "tag:yaml.org,2002:")) {
      return FailTag(mark, tag);
    }
    if (frames_.size() >= static_cast<size_t>(limits_.depth)) {
      return Fail(mark, absl::StrCat("nested deeper than ", limits_.depth, " levels"));
    }
    Frame frame;
    frame.value = std::move(empty);
    frame.source.line = Line(mark);
    frame.anchor = anchor;
    frame.start = Spend(mark, 1, 0);
    if (!fatal_) frames_.push_back(std::move(frame));
  }

  void End() {
    if (fatal_) return;
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    Emit(std::move(frame.value), std::move(frame.source), frame.anchor, frame.start);
  }

  void Emit(Json value, SourceNode source, YAML::anchor_t anchor, Cost start) {
    if (fatal_) return;
    if (anchor != 0) {
      const Cost cost{spent_.nodes - start.nodes, spent_.bytes - start.bytes};
      // The copy that is kept for aliases is also counted, so that nested anchors cannot multiply
      // the text.
      Spend(YAML::Mark(), cost.nodes, cost.bytes);
      if (fatal_) return;
      anchors_[anchor] = {value, cost};
    }
    if (frames_.empty()) {
      root_ = std::move(value);
      root_source_ = std::move(source);
      return;
    }
    Frame& frame = frames_.back();
    if (frame.value.is_array()) {
      frame.value.push_back(std::move(value));
      frame.source.items.push_back(std::move(source));
      return;
    }
    source.line = frame.key_line;
    frame.has_key = false;
    if (frame.source.fields.emplace(frame.key, std::move(source)).second) {
      frame.value[frame.key] = std::move(value);
    }
  }

  const YamlLimits limits_;
  bool fatal_ = false;
  YAML::Mark start_;
  Cost spent_;
  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, std::pair<Json, Cost>> anchors_;
  Json root_;
  SourceNode root_source_;
  std::vector<YamlError> errors_;
};

YamlDocument Unreadable(int line, std::string message) {
  YamlDocument document;
  document.errors.push_back({line, "", std::move(message)});
  return document;
}

// Returns true if line `line` (from 1) begins with white space that contains a tab.
bool IsIndentedByTab(absl::string_view text, int line) {
  for (; line > 1; --line) {
    const size_t end = text.find('\n');
    if (end == absl::string_view::npos) return false;
    text.remove_prefix(end + 1);
  }
  const absl::string_view margin = text.substr(0, text.find_first_not_of(" \t"));
  return absl::StrContains(margin, "\t");
}

// Reads all documents; a second one that is not empty is an error.
YamlDocument ReadDocuments(std::istream& in, const YamlLimits& limits) {
  YamlDocument document;
  YAML::Parser parser(in);
  int last_start = -1;
  for (bool first = true;;) {
    Builder builder(limits);
    if (!parser.HandleNextDocument(builder)) break;
    if (builder.fatal()) {
      document = YamlDocument();
      document.errors = builder.TakeErrors();
      return document;
    }
    // The parser never advances past a token that begins nothing, such as a stray bracket.
    if (builder.start().pos == last_start) {
      return Unreadable(
          builder.start().line + 1,
          absl::StrCat("not valid YAML: a bracket or mark that nothing opened (column ",
                       builder.start().column + 1, ")"));
    }
    last_start = builder.start().pos;
    Json json = builder.TakeJson();
    if (json.is_null()) continue;
    SourceNode source = builder.TakeSource();
    if (!first) {
      return Unreadable(source.line,
                        "a second document starts here; want one TrainingJob in a file");
    }
    first = false;
    document.json = std::move(json);
    document.source = std::move(source);
    document.errors = builder.TakeErrors();
  }
  document.readable = true;
  return document;
}

}  // namespace

YamlDocument ParseYaml(absl::string_view text, const YamlLimits& limits) {
  if (text.size() > limits.bytes) {
    return Unreadable(1,
                      absl::StrCat("is ", text.size(), " bytes long; want at most ", limits.bytes));
  }
  if (const std::optional<TextFault> fault = FindTextFault(text)) {
    return Unreadable(
        fault->line,
        absl::StrFormat("not a text file: byte 0x%02x at offset %d; want YAML in UTF-8",
                        fault->byte, fault->offset));
  }
  std::istringstream in{std::string(text)};
  try {
    return ReadDocuments(in, limits);
  } catch (const YAML::Exception& e) {
    const int line = e.mark.is_null() ? 1 : e.mark.line + 1;
    const int column = e.mark.is_null() ? 1 : e.mark.column + 1;
    if (IsIndentedByTab(text, line)) {
      return Unreadable(line, "not valid YAML: indented by a tab; want spaces");
    }
    return Unreadable(line, absl::StrCat("not valid YAML: ", e.msg, " (column ", column, ")"));
  } catch (const std::exception& e) {
    return Unreadable(1, absl::StrCat("not valid YAML: ", e.what()));
  }
}

int LineOf(const SourceNode& root, absl::string_view path) {
  const SourceNode* node = &root;
  while (!path.empty()) {
    if (path[0] == '[') {
      const bool quoted = absl::StartsWith(path, "[\"");
      const size_t end = path.find(quoted ? "\"]" : "]");
      if (end == absl::string_view::npos) break;
      const absl::string_view inside = path.substr(quoted ? 2 : 1, end - (quoted ? 2 : 1));
      path.remove_prefix(end + (quoted ? 2 : 1));
      size_t index = 0;
      if (quoted) {
        const auto found = node->fields.find(std::string(inside));
        if (found == node->fields.end()) break;
        node = &found->second;
      } else if (absl::SimpleAtoi(inside, &index) && index < node->items.size()) {
        node = &node->items[index];
      } else {
        break;
      }
      continue;
    }
    if (path[0] == '.') path.remove_prefix(1);
    const absl::string_view name = path.substr(0, path.find_first_of(".["));
    const auto found = node->fields.find(std::string(name));
    if (found == node->fields.end()) break;
    node = &found->second;
    path.remove_prefix(name.size());
  }
  return node->line;
}

}  // namespace muster
