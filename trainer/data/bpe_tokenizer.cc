#include "trainer/data/bpe_tokenizer.h"

#include <functional>
#include <queue>
#include <utility>

#include "absl/strings/string_view.h"
#include "trainer/data/pretokenizer.h"

namespace muster::trainer {
namespace {

constexpr size_t kMaxCachedWords = 1 << 18;
constexpr size_t kMaxCachedBytes = 64;
constexpr uint32_t kNone = UINT32_MAX;

uint64_t PairKey(uint32_t left, uint32_t right) { return (uint64_t{left} << 32) | right; }

// A word's symbols as a linked list, so that a merge is O(1).
struct Symbol {
  uint32_t id;
  uint32_t previous;
  uint32_t next;
};

struct Candidate {
  uint32_t rank;
  uint32_t at;
  uint32_t merged;
  uint32_t left, right;  // ids when it was queued: stale if they changed since

  bool operator>(const Candidate& other) const {
    return std::pair(rank, at) > std::pair(other.rank, other.at);
  }
};

}  // namespace

BpeTokenizer::BpeTokenizer(BpeModel model, std::string json)
    : model_(std::move(model)), json_(std::move(json)) {
  for (uint32_t id = 0; id < model_.tokens.size(); ++id) {
    const std::string& token = model_.tokens[id];
    if (token.size() == 1) byte_ids_[static_cast<unsigned char>(token[0])] = id;
    if (model_.ignore_merges && !token.empty()) whole_words_.emplace(token, id);
  }
  for (uint32_t rank = 0; rank < model_.merges.size(); ++rank) {
    const Merge& merge = model_.merges[rank];
    merges_.emplace(PairKey(merge.left, merge.right), MergeTarget{rank, merge.merged});
  }
  for (const AddedToken& added : model_.added) {
    added_starts_[static_cast<unsigned char>(added.content[0])] = true;
    for (std::string_view name : {kEndOfText, "<|end_of_text|>", "</s>", "<eos>"}) {
      if (added.content == name && !end_of_text_.has_value()) end_of_text_ = added.id;
    }
  }
}

const AddedToken* BpeTokenizer::AddedAt(std::string_view text, size_t at) const {
  if (!added_starts_[static_cast<unsigned char>(text[at])]) return nullptr;
  const AddedToken* longest = nullptr;
  for (const AddedToken& added : model_.added) {
    if (longest != nullptr && added.content.size() <= longest->content.size()) continue;
    if (text.substr(at, added.content.size()) == added.content) longest = &added;
  }
  return longest;
}

void BpeTokenizer::Encode(std::string_view text, std::vector<uint32_t>& out) const {
  MutexLock lock(mu_);
  size_t plain = 0;
  for (size_t at = 0; at < text.size();) {
    const AddedToken* added = AddedAt(text, at);
    if (added == nullptr) {
      ++at;
      continue;
    }
    EncodePlain(text.substr(plain, at - plain), out);
    out.push_back(added->id);
    at += added->content.size();
    plain = at;
  }
  EncodePlain(text.substr(plain), out);
}

void BpeTokenizer::EncodePlain(std::string_view text, std::vector<uint32_t>& out) const {
  if (text.empty()) return;
  if (model_.merges.empty() && !model_.ignore_merges && !model_.add_prefix_space) {
    for (const char c : text) out.push_back(byte_ids_[static_cast<unsigned char>(c)]);
    return;
  }
  std::string prefixed;
  if (model_.add_prefix_space && text[0] != ' ') {
    prefixed.append(" ").append(text);
    text = prefixed;
  }
  while (!text.empty()) EncodeWord(NextWord(text), out);
}

void BpeTokenizer::EncodeWord(std::string_view word, std::vector<uint32_t>& out) const {
  const absl::string_view key(word.data(), word.size());
  if (auto whole = whole_words_.find(key); whole != whole_words_.end()) {
    out.push_back(whole->second);
    return;
  }
  if (auto known = cache_.find(key); known != cache_.end()) {
    out.insert(out.end(), known->second.begin(), known->second.end());
    return;
  }
  std::vector<uint32_t> ids = MergeWord(word);
  out.insert(out.end(), ids.begin(), ids.end());
  if (word.size() <= kMaxCachedBytes && cache_.size() < kMaxCachedWords) {
    cache_.emplace(std::string(word), std::move(ids));
  }
}

// Merges the lowest rank first, among equals the leftmost; a heap, so a word of n bytes costs n log
// n.
std::vector<uint32_t> BpeTokenizer::MergeWord(std::string_view word) const {
  const uint32_t size = static_cast<uint32_t>(word.size());
  std::vector<Symbol> symbols(size);
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  auto consider = [&](uint32_t at) {
    if (at == kNone || symbols[at].next == kNone) return;
    const uint32_t left = symbols[at].id, right = symbols[symbols[at].next].id;
    auto found = merges_.find(PairKey(left, right));
    if (found != merges_.end()) {
      queue.push({found->second.rank, at, found->second.merged, left, right});
    }
  };
  for (uint32_t i = 0; i < size; ++i) {
    symbols[i] = {byte_ids_[static_cast<unsigned char>(word[i])], i == 0 ? kNone : i - 1,
                  i + 1 == size ? kNone : i + 1};
  }
  for (uint32_t i = 0; i + 1 < size; ++i) consider(i);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& left = symbols[best.at];
    if (left.id != best.left || left.next == kNone || symbols[left.next].id != best.right) continue;
    Symbol& right = symbols[left.next];
    left.id = best.merged;
    right.id = kNone;  // dead: no candidate that starts here is valid any more
    left.next = right.next;
    if (left.next != kNone) symbols[left.next].previous = best.at;
    consider(left.previous);
    consider(best.at);
  }
  std::vector<uint32_t> ids;
  for (uint32_t at = size == 0 ? kNone : 0; at != kNone; at = symbols[at].next) {
    ids.push_back(symbols[at].id);
  }
  return ids;
}

std::string BpeTokenizer::Decode(std::span<const uint32_t> ids) const {
  std::string text;
  for (const uint32_t id : ids) {
    if (id >= model_.tokens.size()) continue;
    const std::string& bytes = model_.tokens[id];
    if (!bytes.empty()) {
      text += bytes;
      continue;
    }
    for (const AddedToken& added : model_.added) {
      if (added.id == id) text += added.content;
    }
  }
  return text;
}

}  // namespace muster::trainer
