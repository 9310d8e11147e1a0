#ifndef MUSTER_TRAINER_DATA_TOKENIZER_H_
#define MUSTER_TRAINER_DATA_TOKENIZER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster::trainer {

// Converts bytes to token ids and back: Decode(Encode(x)) == x for every x that does not contain a
// special token's text. Thread-safe.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Every id is below this.
  virtual uint32_t vocabulary() const = 0;
  virtual std::optional<uint32_t> end_of_text() const = 0;
  // Appends to `out`.
  virtual void Encode(std::string_view text, std::vector<uint32_t>& out) const = 0;
  // Decodes an id without a token to nothing.
  virtual std::string Decode(std::span<const uint32_t> ids) const = 0;
  // Returns the same tokenizer as a Hugging Face tokenizer.json; equal tokenizers give equal bytes.
  virtual const std::string& json() const = 0;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_DATA_TOKENIZER_H_
