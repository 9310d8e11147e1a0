#ifndef MUSTER_TRAINER_DATA_BPE_TOKENIZER_H_
#define MUSTER_TRAINER_DATA_BPE_TOKENIZER_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/mutex.h"
#include "trainer/data/bpe_model.h"
#include "trainer/data/tokenizer.h"

namespace muster::trainer {

// Byte-level BPE with GPT-2's pattern; without merges it is the byte tokenizer. Words seen before
// come from a bounded cache, so Encode serves one caller at a time.
class BpeTokenizer final : public Tokenizer {
 public:
  // `json` is returned by json().
  BpeTokenizer(BpeModel model, std::string json);

  uint32_t vocabulary() const override { return static_cast<uint32_t>(model_.tokens.size()); }
  std::optional<uint32_t> end_of_text() const override { return end_of_text_; }
  void Encode(std::string_view text, std::vector<uint32_t>& out) const override;
  std::string Decode(std::span<const uint32_t> ids) const override;
  const std::string& json() const override { return json_; }
  const BpeModel& model() const { return model_; }

 private:
  struct MergeTarget {
    uint32_t rank;
    uint32_t merged;
  };

  // Returns the longest added token that starts at text[at].
  const AddedToken* AddedAt(std::string_view text, size_t at) const;
  void EncodePlain(std::string_view text, std::vector<uint32_t>& out) const MUSTER_REQUIRES(mu_);
  void EncodeWord(std::string_view word, std::vector<uint32_t>& out) const MUSTER_REQUIRES(mu_);
  std::vector<uint32_t> MergeWord(std::string_view word) const;

  const BpeModel model_;
  const std::string json_;
  std::optional<uint32_t> end_of_text_;
  std::array<uint32_t, 256> byte_ids_{};
  std::array<bool, 256> added_starts_{};
  absl::flat_hash_map<uint64_t, MergeTarget> merges_;
  absl::flat_hash_map<std::string, uint32_t> whole_words_;  // with ignore_merges only

  mutable Mutex mu_;
  mutable absl::flat_hash_map<std::string, std::vector<uint32_t>> cache_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_DATA_BPE_TOKENIZER_H_
