#include "trainer/data/tokenizer_json.h"

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "base/status_macros.h"
#include "trainer/data/pretokenizer.h"

namespace muster::trainer {
namespace {

constexpr uint32_t kMaxVocabulary = 1 << 22;
constexpr char kGpt2Pattern[] =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

absl::Status Bad(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("tokenizer.json: ", what));
}

// The format writes null for a member that is absent.
bool Flag(const Json& object, const char* name, bool otherwise) {
  const Json& value = ValueField(object, name);
  return value.is_boolean() ? value.get<bool>() : otherwise;
}

absl::StatusOr<uint32_t> ReadId(const Json& value, const std::string& where) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() >= kMaxVocabulary) {
    return Bad(absl::StrCat(where, ": an id must be an integer from 0 to ", kMaxVocabulary - 1));
  }
  return static_cast<uint32_t>(value.get<uint64_t>());
}

// Accepts ByteLevel with its own pattern, or Split with the same pattern and then ByteLevel without
// one.
absl::Status ReadPreTokenizer(const Json& json, BpeModel& model) {
  std::vector<const Json*> steps = {&json};
  if (StringField(json, "type") == "Sequence" && ValueField(json, "pretokenizers").is_array()) {
    steps.clear();
    for (const Json& step : ValueField(json, "pretokenizers")) steps.push_back(&step);
  }
  bool split = false, byte_level = false;
  for (const Json* step : steps) {
    const std::string type = StringField(*step, "type");
    const std::string pattern = StringField(ValueField(*step, "pattern"), "Regex");
    if (type == "ByteLevel" && !byte_level) {
      byte_level = true;
      model.add_prefix_space = Flag(*step, "add_prefix_space", true);
      if (Flag(*step, "use_regex", true) == split) {
        return Bad("pre_tokenizer: ByteLevel must split once by GPT-2's pattern");
      }
    } else if (type == "Split" && !split && !byte_level && pattern == kGpt2Pattern &&
               StringField(*step, "behavior") == "Isolated" && !Flag(*step, "invert", false)) {
      split = true;
    } else {
      return Bad(absl::StrCat("pre_tokenizer ", type, pattern.empty() ? "" : " with pattern ",
                              pattern, " is not supported; ByteLevel with GPT-2's pattern is"));
    }
  }
  if (split && model.add_prefix_space) {
    return Bad(
        "pre_tokenizer: ByteLevel with add_prefix_space after Split puts a space before each "
        "piece, "
        "which is not supported; add_prefix_space false is, or ByteLevel alone with use_regex");
  }
  return byte_level ? absl::OkStatus() : Bad("pre_tokenizer: ByteLevel is missing");
}

absl::Status RefuseUnsupported(const Json& root, const Json& model) {
  if (!ValueField(root, "normalizer").is_null()) {
    return Bad(absl::StrCat("normalizer ", StringField(ValueField(root, "normalizer"), "type"),
                            " is not supported"));
  }
  const std::string type = StringField(model, "type");
  if (!type.empty() && type != "BPE") {
    return Bad(absl::StrCat("model type ", type, " is not supported; BPE is"));
  }
  for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix", "unk_token"}) {
    const Json& value = ValueField(model, name);
    // A vocabulary with every byte never needs unk_token.
    if (name != std::string_view("unk_token") && !value.is_null() && value != "") {
      return Bad(absl::StrCat("model.", name, " is not supported"));
    }
  }
  const Json& dropout = ValueField(model, "dropout");
  if (!dropout.is_null() && dropout != 0) return Bad("model.dropout is not supported");
  if (Flag(model, "byte_fallback", false)) return Bad("model.byte_fallback is not supported");
  return absl::OkStatus();
}

using Ids = std::unordered_map<std::string, uint32_t>;  // by stand-ins, as the file spells them

absl::StatusOr<Ids> ReadVocabulary(const Json& vocabulary, BpeModel& model) {
  if (!vocabulary.is_object() || vocabulary.empty()) return Bad("model.vocab is missing or empty");
  Ids ids;
  std::unordered_set<uint32_t> taken;
  for (const auto& [token, value] : vocabulary.items()) {
    MUSTER_ASSIGN_OR_RETURN(const uint32_t id, ReadId(value, absl::StrCat("model.vocab: ", token)));
    if (token.empty()) return Bad("model.vocab: an empty token");
    if (!taken.insert(id).second) {
      return Bad(absl::StrCat("model.vocab: id ", id, " is given to two tokens"));
    }
    if (id >= model.tokens.size()) model.tokens.resize(id + 1);
    std::string bytes;
    // A token that stands for no bytes stays empty here: only an added token may be spelled so.
    if (FromStandIns(token, bytes)) model.tokens[id] = bytes;
    ids.emplace(token, id);
  }
  return ids;
}

absl::Status CheckBytes(const Ids& ids) {
  for (int b = 0; b < 256; ++b) {
    if (!ids.contains(ToStandIns(std::string(1, static_cast<char>(b))))) {
      return Bad(absl::StrFormat("model.vocab: byte 0x%02X has no token", b));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::pair<std::string, std::string>> ReadPair(const Json& merge, size_t index) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return std::pair(merge[0].get<std::string>(), merge[1].get<std::string>());
  }
  if (merge.is_string()) {
    const std::string& text = merge.get_ref<const std::string&>();
    const size_t space = text.find(' ');
    if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos) {
      return std::pair(text.substr(0, space), text.substr(space + 1));
    }
  }
  return Bad(absl::StrCat("model.merges[", index, "]: must be \"a b\" or [\"a\", \"b\"]"));
}

absl::Status ReadMerges(const Json& merges, const Ids& ids, BpeModel& model) {
  if (!merges.is_array()) return Bad("model.merges is missing");
  for (size_t i = 0; i < merges.size(); ++i) {
    MUSTER_ASSIGN_OR_RETURN(const auto pair, ReadPair(merges[i], i));
    const auto left = ids.find(pair.first), right = ids.find(pair.second);
    const auto merged = ids.find(pair.first + pair.second);
    if (left == ids.end() || right == ids.end() || merged == ids.end()) {
      return Bad(absl::StrCat("model.merges[", i, "]: ", pair.first, " ", pair.second,
                              " names a token that is not in model.vocab"));
    }
    model.merges.push_back({left->second, right->second, merged->second});
  }
  return absl::OkStatus();
}

absl::Status ReadAdded(const Json& added, const Ids& ids, BpeModel& model) {
  if (added.is_null()) return absl::OkStatus();
  if (!added.is_array()) return Bad("added_tokens must be a list");
  for (size_t i = 0; i < added.size(); ++i) {
    const std::string where = absl::StrCat("added_tokens[", i, "]");
    AddedToken token{0, StringField(added[i], "content"), Flag(added[i], "special", false)};
    MUSTER_ASSIGN_OR_RETURN(token.id, ReadId(ValueField(added[i], "id"), where));
    if (token.content.empty()) return Bad(absl::StrCat(where, ": content is missing"));
    for (const char* name : {"single_word", "lstrip", "rstrip"}) {
      if (Flag(added[i], name, false))
        return Bad(absl::StrCat(where, ": ", name, " is not supported"));
    }
    if (token.id >= model.tokens.size()) model.tokens.resize(token.id + 1);
    const auto known = ids.find(token.content);
    if (known == ids.end() ? !model.tokens[token.id].empty() : known->second != token.id) {
      return Bad(
          absl::StrCat(where, ": id ", token.id, " belongs to another token in model.vocab"));
    }
    model.tokens[token.id].clear();
    model.added.push_back(std::move(token));
  }
  return absl::OkStatus();
}

// Refuses a token that can never come out of merging bytes: another tokenizer's spelling, or
// damage.
absl::Status CheckSpelling(const Ids& ids, const BpeModel& model) {
  std::unordered_set<uint32_t> added;
  for (const AddedToken& token : model.added) added.insert(token.id);
  for (const auto& [token, id] : ids) {
    if (model.tokens[id].empty() && !added.contains(id)) {
      return Bad(absl::StrCat("model.vocab: ", token, " is not spelled in byte-level characters"));
    }
  }
  return absl::OkStatus();
}

Json FormatModel(const BpeModel& model, const Json& vocabulary, const Json& merges) {
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", model.ignore_merges},
          {"vocab", vocabulary},
          {"merges", merges}};
}

}  // namespace

absl::StatusOr<BpeModel> ParseTokenizerJson(std::string_view text) {
  absl::StatusOr<Json> root = ParseUniqueJson(text);
  if (!root.ok()) return Bad(std::string(root.status().message()));
  if (!root->is_object()) return Bad("must be an object");
  const Json& model_json = ValueField(*root, "model");
  BpeModel model;
  MUSTER_RETURN_IF_ERROR(RefuseUnsupported(*root, model_json));
  MUSTER_RETURN_IF_ERROR(ReadPreTokenizer(ValueField(*root, "pre_tokenizer"), model));
  MUSTER_ASSIGN_OR_RETURN(const Ids ids, ReadVocabulary(ValueField(model_json, "vocab"), model));
  MUSTER_RETURN_IF_ERROR(CheckBytes(ids));
  MUSTER_RETURN_IF_ERROR(ReadMerges(ValueField(model_json, "merges"), ids, model));
  MUSTER_RETURN_IF_ERROR(ReadAdded(ValueField(*root, "added_tokens"), ids, model));
  MUSTER_RETURN_IF_ERROR(CheckSpelling(ids, model));
  model.ignore_merges = Flag(model_json, "ignore_merges", false);
  return model;
}

std::string FormatTokenizerJson(const BpeModel& model) {
  Json vocabulary = Json::object(), merges = Json::array(), added = Json::array();
  for (uint32_t id = 0; id < model.tokens.size(); ++id) {
    if (!model.tokens[id].empty()) vocabulary[ToStandIns(model.tokens[id])] = id;
  }
  for (const Merge& merge : model.merges) {
    merges.push_back(ToStandIns(model.tokens[merge.left]) + " " +
                     ToStandIns(model.tokens[merge.right]));
  }
  for (const AddedToken& token : model.added) {
    vocabulary[token.content] = token.id;
    added.push_back({{"id", token.id},
                     {"content", token.content},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", token.special}});
  }
  const Json byte_level = {{"type", "ByteLevel"},
                           {"add_prefix_space", model.add_prefix_space},
                           {"trim_offsets", true},
                           {"use_regex", true}};
  const Json root = {{"version", "1.0"},
                     {"truncation", nullptr},
                     {"padding", nullptr},
                     {"added_tokens", added},
                     {"normalizer", nullptr},
                     {"pre_tokenizer", byte_level},
                     {"post_processor", byte_level},
                     {"decoder", byte_level},
                     {"model", FormatModel(model, vocabulary, merges)}};
  return DumpJson(root, 1);
}

}  // namespace muster::trainer
