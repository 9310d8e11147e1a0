#include "trainer/engine/store/compare_data.h"

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ATen/ops/empty.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "trainer/commit/judge_item.h"
#include "trainer/engine/link/message_tensor.h"

namespace muster::trainer {
namespace {

// A rank says this of its data.
struct Word {
  uint64_t seed = 0;    // of the digest; 0: it has none yet
  uint64_t random = 0;  // its part of a new seed
  DataDigest digest;
};

std::vector<int64_t> ToNumbers(const Word& word) {
  std::vector<int64_t> numbers;
  for (const uint64_t part :
       {word.seed, word.random, word.digest.tokens, word.digest.sources, word.digest.contents}) {
    numbers.push_back(static_cast<int64_t>(part));
  }
  return numbers;
}

absl::StatusOr<std::vector<Word>> Gather(const Word& mine, Communicator& world) {
  const at::Tensor input = ToTensor(ToNumbers(mine));
  at::Tensor all = at::empty({input.numel() * world.size()}, at::kLong);
  MUSTER_RETURN_IF_ERROR(world.AllGather(all, input, "data")->Wait());
  std::vector<Word> words;
  for (int rank = 0; rank < world.size(); ++rank) {
    const int64_t* from = all.const_data_ptr<int64_t>() + rank * input.numel();
    const auto part = [&](int i) { return static_cast<uint64_t>(from[i]); };
    words.push_back({part(0), part(1), {part(2), part(3), part(4)}});
  }
  return words;
}

// Returns the seed that some rank remembers, so that it need not read again, or a new one.
uint64_t ChooseSeed(const std::vector<Word>& words) {
  uint64_t drawn = 0;
  for (const Word& word : words) {
    if (word.seed != 0) return word.seed;
    drawn ^= word.random;
  }
  return drawn == 0 ? 1 : drawn;
}

bool HaveAll(const std::vector<Word>& words, uint64_t seed) {
  for (const Word& word : words) {
    if (word.seed != seed) return false;
  }
  return true;
}

std::string WhatDiffers(const DataDigest& one, const DataDigest& other) {
  if (one.tokens != other.tokens) {
    return absl::StrCat("they have ", one.tokens, " and ", other.tokens, " tokens");
  }
  if (one.contents != other.contents) return "they have as many tokens, and other ones";
  return "the tokens agree, but not the names, the sizes or the contents of the files";
}

absl::Status Judge(const std::vector<Word>& words) {
  SharedItem item;
  for (size_t rank = 0; rank < words.size(); ++rank) {
    const DataDigest& digest = words[rank].digest;
    const uint64_t parts[] = {digest.tokens, digest.sources, digest.contents};
    item.holders.push_back(
        {static_cast<int>(rank),
         static_cast<int64_t>(Hash64({reinterpret_cast<const char*>(parts), sizeof parts}))});
  }
  const std::optional<Disagreement> difference = JudgeItem(item, {});
  if (!difference) return absl::OkStatus();
  const size_t most = difference->right.value_or(0);
  const std::set<int>& side = difference->sides[most];
  const std::set<int>& other = difference->sides[most == 0 ? 1 : 0];
  return absl::FailedPreconditionError(absl::StrCat(
      RanksText(other), " and ", RanksText(side), " do not have the same training data: ",
      WhatDiffers(words[static_cast<size_t>(*other.begin())].digest,
                  words[static_cast<size_t>(*side.begin())].digest),
      ". data.uri must name the same files on every node"));
}

}  // namespace

absl::Status CompareData(uint64_t random, DataDigester& data, Communicator& world) {
  if (world.size() == 1) return absl::OkStatus();
  Word mine{.seed = data.remembered(), .random = random};
  if (mine.seed != 0) mine.digest = data.Digest(mine.seed);
  MUSTER_ASSIGN_OR_RETURN(std::vector<Word> words, Gather(mine, world));
  const uint64_t seed = ChooseSeed(words);
  if (!HaveAll(words, seed)) {
    MUSTER_ASSIGN_OR_RETURN(words, Gather({seed, 0, data.Digest(seed)}, world));
  }
  return Judge(words);
}

}  // namespace muster::trainer
