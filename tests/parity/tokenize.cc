// usage: tokenize train TEXT VOCABULARY TOKENIZER_JSON -- learns a BPE vocabulary
//        tokenize encode TOKENIZER_JSON LINES_JSON      -- prints the ids of each line, decoded
//        back
//
// muster's half of the comparison with Hugging Face's tokenizers; LINES_JSON is an array of
// strings.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "base/files/files.h"
#include "base/json.h"
#include "trainer/data/bpe_model.h"
#include "trainer/data/bpe_tokenizer.h"
#include "trainer/data/bpe_trainer.h"
#include "trainer/data/tokenizer_json.h"

namespace muster::trainer {
namespace {

constexpr size_t kMaxBytes = size_t{64} << 20;

void OkOrDie(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "tokenize: %s\n", status.ToString().c_str());
  std::exit(1);
}

template <typename T>
T OrDie(absl::StatusOr<T> value) {
  OkOrDie(value.status());
  return *std::move(value);
}

std::string Read(const char* path) { return OrDie(ReadFile(FileSystem(), path, kMaxBytes)); }

void Train(const char* text_path, uint32_t vocabulary, const char* out) {
  const std::string text = Read(text_path);
  const BpeModel model = OrDie(TrainBpe({std::string_view(text)}, vocabulary));
  OkOrDie(WriteFileAtomically(FileSystem(), out, FormatTokenizerJson(model)));
}

void Encode(const char* tokenizer_path, const char* lines_path) {
  const std::string json = Read(tokenizer_path);
  const BpeTokenizer tokenizer(OrDie(ParseTokenizerJson(json)), json);
  const Json lines = OrDie(ParseJson(Read(lines_path), kMaxBytes));
  for (const Json& line : lines) {
    const std::string text = line.get<std::string>();
    std::vector<uint32_t> ids;
    tokenizer.Encode(text, ids);
    if (tokenizer.Decode(ids) != text && text.find(kEndOfText) == std::string::npos) {
      OkOrDie(absl::InternalError("decoding does not give back: " + DumpJson(line)));
    }
    std::printf("%s\n", absl::StrJoin(ids, " ").c_str());
  }
}

}  // namespace
}  // namespace muster::trainer

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "train" && argc == 5) {
    muster::trainer::Train(argv[2], static_cast<uint32_t>(std::atoi(argv[3])), argv[4]);
  } else if (what == "encode" && argc == 4) {
    muster::trainer::Encode(argv[2], argv[3]);
  } else {
    std::fprintf(stderr,
                 "usage: tokenize train TEXT VOCABULARY TOKENIZER_JSON\n"
                 "       tokenize encode TOKENIZER_JSON LINES_JSON\n");
    return 2;
  }
  return 0;
}
