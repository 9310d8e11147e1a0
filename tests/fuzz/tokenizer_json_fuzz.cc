#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer/data/bpe_model.h"
#include "trainer/data/bpe_tokenizer.h"
#include "trainer/data/tokenizer_json.h"

// An accepted tokenizer must encode with ids of its vocabulary only and, unless it adds a prefix
// space, decode every text that it encodes back to the same text.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto model = muster::trainer::ParseTokenizerJson(text);
  if (!model.ok()) return 0;
  const bool prefixes = model->add_prefix_space;
  const muster::trainer::BpeTokenizer tokenizer(*std::move(model), std::string(text));
  const std::string_view sample = text.substr(0, 4096);
  std::vector<uint32_t> ids;
  tokenizer.Encode(sample, ids);
  for (const uint32_t id : ids) {
    if (id >= tokenizer.vocabulary()) std::abort();
  }
  if (!prefixes && tokenizer.Decode(ids) != sample) std::abort();
  return 0;
}
