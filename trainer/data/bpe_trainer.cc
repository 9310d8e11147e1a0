#include "trainer/data/bpe_trainer.h"

#include <algorithm>
#include <queue>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "trainer/data/pretokenizer.h"

namespace muster::trainer {
namespace {

constexpr uint32_t kBase = 257;

using Pair = std::pair<uint32_t, uint32_t>;

struct Word {
  std::vector<uint32_t> symbols;
  int64_t count = 0;
};

struct Candidate {
  int64_t count = 0;
  Pair pair;

  // Orders a heap with the best candidate on top.
  bool operator<(const Candidate& other) const {
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

class MergeLearner {
 public:
  explicit MergeLearner(BpeModel model) : model_(std::move(model)) {
    for (uint32_t id = 0; id < model_.tokens.size(); ++id) {
      if (!model_.tokens[id].empty()) ids_[model_.tokens[id]] = id;
    }
  }

  void AddWord(std::string_view bytes, int64_t count) {
    Word word{{}, count};
    for (const char c : bytes) word.symbols.push_back(ids_.at(absl::string_view(&c, 1)));
    words_.push_back(std::move(word));
  }

  void Run(uint32_t vocabulary) {
    for (uint32_t w = 0; w < words_.size(); ++w) {
      const Word& word = words_[w];
      for (size_t i = 0; i + 1 < word.symbols.size(); ++i) {
        Count({word.symbols[i], word.symbols[i + 1]}, word.count, w);
      }
    }
    Requeue();
    while (model_.tokens.size() < vocabulary && !queue_.empty()) {
      const Candidate best = queue_.top();
      queue_.pop();
      const int64_t now = counts_[best.pair];
      if (now != best.count) {
        if (now >= 2) queue_.push({now, best.pair});
        continue;
      }
      MergeEverywhere(best.pair);
      Requeue();
    }
  }

  BpeModel Take() { return std::move(model_); }

 private:
  void Count(Pair pair, int64_t change, uint32_t word) {
    counts_[pair] += change;
    if (change > 0) {
      where_[pair].insert(word);
      touched_.insert(pair);
    }
  }

  // Queues pairs that became more frequent. Pairs that became rarer are noticed when they come up.
  void Requeue() {
    for (const Pair& pair : touched_) {
      if (const int64_t count = counts_[pair]; count >= 2) queue_.push({count, pair});
    }
    touched_.clear();
  }

  uint32_t IdOf(Pair pair) {
    std::string bytes = model_.tokens[pair.first] + model_.tokens[pair.second];
    const auto [found, made] = ids_.emplace(bytes, static_cast<uint32_t>(model_.tokens.size()));
    if (made) model_.tokens.push_back(std::move(bytes));
    return found->second;
  }

  void MergeEverywhere(Pair pair) {
    const uint32_t merged = IdOf(pair);
    model_.merges.push_back({pair.first, pair.second, merged});
    const auto words = std::move(where_[pair]);
    where_.erase(pair);
    for (const uint32_t w : words) MergeIn(words_[w], w, pair, merged);
    counts_[pair] = 0;
    touched_.erase(pair);
  }

  void MergeIn(Word& word, uint32_t index, Pair pair, uint32_t merged) {
    std::vector<uint32_t>& symbols = word.symbols;
    size_t out = 0;
    for (size_t i = 0; i < symbols.size(); ++i, ++out) {
      const bool hit =
          i + 1 < symbols.size() && symbols[i] == pair.first && symbols[i + 1] == pair.second;
      if (!hit) {
        symbols[out] = symbols[i];
        continue;
      }
      if (out > 0) {
        Count({symbols[out - 1], pair.first}, -word.count, index);
        Count({symbols[out - 1], merged}, word.count, index);
      }
      if (i + 2 < symbols.size()) {
        Count({pair.second, symbols[i + 2]}, -word.count, index);
        Count({merged, symbols[i + 2]}, word.count, index);
      }
      symbols[out] = merged;
      ++i;
    }
    symbols.resize(out);
  }

  BpeModel model_;
  absl::flat_hash_map<std::string, uint32_t> ids_;
  std::vector<Word> words_;
  absl::flat_hash_map<Pair, int64_t> counts_;
  absl::flat_hash_map<Pair, absl::flat_hash_set<uint32_t>> where_;
  absl::flat_hash_set<Pair> touched_;
  std::priority_queue<Candidate> queue_;
};

BpeModel BaseModel() {
  BpeModel model;
  model.tokens.emplace_back();
  model.added.push_back({0, kEndOfText, true});
  std::vector<std::pair<char32_t, char>> alphabet;
  for (int b = 0; b < 256; ++b) {
    alphabet.emplace_back(ByteStandIns()[static_cast<size_t>(b)], static_cast<char>(b));
  }
  std::sort(alphabet.begin(), alphabet.end());
  for (const auto& [stand_in, byte] : alphabet) model.tokens.emplace_back(1, byte);
  return model;
}

}  // namespace

absl::StatusOr<BpeModel> TrainBpe(const std::vector<std::string_view>& documents,
                                  uint32_t vocabulary, uint64_t max_bytes) {
  if (vocabulary < kBase) {
    return absl::InvalidArgumentError(absl::StrCat("a byte-level vocabulary of ", vocabulary,
                                                   " is too small: it has at least ", kBase,
                                                   " ids"));
  }
  absl::flat_hash_map<std::string, int64_t> counts;
  for (std::string_view document : documents) {
    std::string_view rest = document.substr(0, max_bytes);
    max_bytes -= rest.size();
    while (!rest.empty()) {
      const std::string_view word = NextWord(rest);
      ++counts[absl::string_view(word.data(), word.size())];
    }
  }
  // The hash map's order differs from run to run; the words' order must not.
  std::vector<std::pair<std::string_view, int64_t>> words(counts.begin(), counts.end());
  std::sort(words.begin(), words.end());
  MergeLearner learner(BaseModel());
  for (const auto& [word, count] : words) learner.AddWord(word, count);
  learner.Run(vocabulary);
  return learner.Take();
}

}  // namespace muster::trainer
