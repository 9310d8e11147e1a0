#ifndef MUSTER_TRAINER_DATA_PRETOKENIZER_H_
#define MUSTER_TRAINER_DATA_PRETOKENIZER_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace muster::trainer {

// Takes the next word off `text` (not empty) and returns it. Words follow GPT-2's pattern, and no
// merge may cross their borders:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// Bytes that are not UTF-8 count as [^\s\p{L}\p{N}], so any bytes can be split. Pure.
std::string_view NextWord(std::string_view& text);

// Returns GPT-2's printable stand-ins for the 256 bytes, one code point each.
const std::array<char32_t, 256>& ByteStandIns();
std::string ToStandIns(std::string_view bytes);  // UTF-8
// Returns false if a code point of `stand_ins` stands for no byte.
bool FromStandIns(std::string_view stand_ins, std::string& bytes);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_DATA_PRETOKENIZER_H_
