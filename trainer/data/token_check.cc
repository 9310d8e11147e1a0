#include "trainer/data/token_check.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace muster::trainer {
namespace {

struct KnownKind {
  std::string_view magic;
  const char* name;
};
// clang-format off
constexpr KnownKind kKinds[] = {
    {"\x93NUMPY", "a NumPy array: array.tofile(\"tokens.bin\") writes its numbers alone"},
    {"PK\x03\x04", "a zip archive, as numpy.savez and torch.save make"},
    {"PAR1", "a Parquet file"},
    {"ARROW1", "an Arrow file"},
    {"\x89HDF\r\n", "an HDF5 file"},
};
// clang-format on

// The first numbers of the shards of llm.c and modded-nanogpt, whose header is 256 numbers of 32
// bits: for 16-bit tokens and for 32-bit ones, then the version and the number of tokens.
constexpr uint32_t kLlmcMagic[] = {20240520, 20240801};
constexpr uint32_t kMostLlmcVersion = 255;
constexpr size_t kLlmcHeader = 1024;

constexpr uint64_t kLookedAt = 1 << 16;  // tokens
constexpr size_t kLeastText = 64;        // bytes
// Fewer are no proof: somebody may train on a few numbers in turn.
constexpr size_t kLeastNumbers = 512, kLeastDistinct = 16;

constexpr uint64_t kBlock = 1 << 18;                  // tokens
constexpr uint64_t kMostScanned = uint64_t{1} << 29;  // tokens

bool IsLlmcShard(std::string_view bytes) {
  uint32_t head[2];
  if (bytes.size() < kLlmcHeader) return false;
  std::memcpy(head, bytes.data(), sizeof head);
  const bool known = std::count(std::begin(kLlmcMagic), std::end(kLlmcMagic), head[0]) > 0;
  return known && head[1] <= kMostLlmcVersion;
}

// Numbers that are tokens have bytes that no text has: 0, for one.
bool IsText(std::string_view bytes) {
  return bytes.size() >= kLeastText && std::all_of(bytes.begin(), bytes.end(), [](char c) {
           return absl::ascii_isprint(static_cast<unsigned char>(c)) || c == '\n' || c == '\r' ||
                  c == '\t';
         });
}

// Returns how many of `type` make one number, judged by zeros: 1, or 2 or 4 if each one in so many
// is followed by zeros only.
int NumbersInOne(const std::vector<int64_t>& tokens) {
  for (const size_t period : {4, 2}) {
    std::set<int64_t> values;
    bool zeros = true;
    for (size_t i = 0; i < tokens.size() && zeros; ++i) {
      if (i % period == 0) values.insert(tokens[i]);
      if (i % period != 0) zeros = tokens[i] == 0;
    }
    if (zeros && values.size() >= kLeastDistinct) return static_cast<int>(period);
  }
  return 1;
}

absl::Status CheckWidth(std::string_view bytes, TokenType type) {
  const Tokens tokens(nullptr, bytes, type);
  std::vector<int64_t> some(std::min(kLookedAt, tokens.size()));
  if (some.size() < kLeastNumbers) return absl::OkStatus();
  tokens.Copy(0, some);
  const int in_one = NumbersInOne(some);
  if (in_one == 1) return absl::OkStatus();
  if (type == TokenType::kU16 && in_one == 2) {
    return absl::InvalidArgumentError(
        "every second number of 16 bits is 0, because its tokens have 32: set data.tokenType to "
        "U32");
  }
  return absl::InvalidArgumentError(
      "its numbers have 64 bits: write them with 32, in NumPy as array.astype(\"<u4\"), and set "
      "data.tokenType to U32");
}

}  // namespace

absl::Status CheckTokenBytes(std::string_view bytes, TokenType type) {
  constexpr char kWanted[] = "; format Tokens takes token numbers alone";
  for (const KnownKind& kind : kKinds) {
    if (!bytes.starts_with(kind.magic)) continue;
    return absl::InvalidArgumentError(absl::StrCat("is ", kind.name, kWanted));
  }
  if (IsLlmcShard(bytes)) {
    return absl::InvalidArgumentError(absl::StrCat("is a shard of llm.c, with a header of ",
                                                   kLlmcHeader, " bytes", kWanted,
                                                   ": tail -c +1025 makes such a file of it"));
  }
  if (IsText(bytes.substr(0, kLookedAt))) {
    return absl::InvalidArgumentError(
        absl::StrCat("is text", kWanted, ": set data.format to Text"));
  }
  return CheckWidth(bytes, type);
}

absl::Status CheckTokenIds(const Tokens& tokens, int64_t vocabulary) {
  const uint64_t blocks = (tokens.size() + kBlock - 1) / kBlock;
  const uint64_t looked_at = std::min(blocks, kMostScanned / kBlock);
  std::vector<int64_t> block;
  for (uint64_t i = 0; i < looked_at; ++i) {
    const uint64_t begin = i * blocks / looked_at * kBlock;
    block.resize(std::min(kBlock, tokens.size() - begin));
    tokens.Copy(begin, block);
    if (*std::max_element(block.begin(), block.end()) < vocabulary) continue;
    const auto bad = std::find_if(block.begin(), block.end(),
                                  [&](int64_t token) { return token >= vocabulary; });
    return absl::InvalidArgumentError(absl::StrCat(
        "holds token ", *bad, " at position ", begin + static_cast<uint64_t>(bad - block.begin()),
        ", but the vocabulary ends at ", vocabulary - 1,
        ": is model.vocabulary too small, or data.tokenType not that of the file?"));
  }
  return absl::OkStatus();
}

}  // namespace muster::trainer
