#include "trainer/data/dataset.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "trainer/data/bpe_model.h"
#include "trainer/data/bpe_tokenizer.h"
#include "trainer/data/bpe_trainer.h"
#include "trainer/data/cache_file_lock.h"
#include "trainer/data/corpus.h"
#include "trainer/data/token_cache.h"
#include "trainer/data/tokenizer_json.h"

namespace muster::trainer {
namespace {

constexpr uint32_t kDefaultVocabulary = 8192;
constexpr size_t kCopyTokens = 1 << 16;
// Enough for a third decimal of the entropy, and read in well under a second.
constexpr uint64_t kEntropyTokens = 4'000'000;

std::unique_ptr<Tokenizer> FromModel(BpeModel model) {
  std::string json = FormatTokenizerJson(model);
  return std::make_unique<BpeTokenizer>(std::move(model), std::move(json));
}

absl::StatusOr<std::unique_ptr<Tokenizer>> LoadTokenizer(Files& files, const std::string& path) {
  MUSTER_ASSIGN_OR_RETURN(std::string text, ReadFile(files, path));
  absl::StatusOr<BpeModel> model = ParseTokenizerJson(text);
  if (!model.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", model.status().message()));
  }
  return std::make_unique<BpeTokenizer>(*std::move(model), std::move(text));
}

absl::StatusOr<std::unique_ptr<Tokenizer>> TrainTokenizer(const Corpus& corpus,
                                                          uint32_t vocabulary) {
  std::vector<std::string_view> documents;
  for (const Document& document : corpus.documents) documents.push_back(document.bytes());
  MUSTER_ASSIGN_OR_RETURN(BpeModel model, TrainBpe(documents, vocabulary));
  return FromModel(std::move(model));
}

// Ranks need not communicate: a trained tokenizer depends on the corpus and the size alone.
absl::StatusOr<std::unique_ptr<Tokenizer>> TrainedTokenizer(Files& files, const Corpus& corpus,
                                                            uint32_t vocabulary,
                                                            const std::string& cache_directory) {
  if (cache_directory.empty()) return TrainTokenizer(corpus, vocabulary);
  const std::string key = Hash128Hex(absl::StrCat(corpus.ContentHash(), "/bpe/", vocabulary));
  const std::string path = JoinPath(cache_directory, absl::StrCat(key, ".tokenizer.json"));
  if (auto cached = LoadTokenizer(files, path); cached.ok()) return cached;
  files.MakeDirectories(cache_directory).IgnoreError();
  const CacheFileLock lock(path);
  if (auto cached = LoadTokenizer(files, path); cached.ok()) return cached;
  auto tokenizer = TrainTokenizer(corpus, vocabulary);
  if (tokenizer.ok()) WriteFileAtomically(files, path, (*tokenizer)->json()).IgnoreError();
  return tokenizer;
}

absl::StatusOr<std::unique_ptr<Tokenizer>> MakeTokenizer(Files& files, const Corpus& corpus,
                                                         const DatasetOptions& options) {
  if (options.tokenizer == DatasetOptions::TokenizerKind::kByte) return FromModel(ByteModel());
  if (!options.tokenizer_path.empty()) return LoadTokenizer(files, options.tokenizer_path);
  const uint32_t vocabulary =
      options.tokenizer_vocabulary == 0 ? kDefaultVocabulary : options.tokenizer_vocabulary;
  return TrainedTokenizer(files, corpus, vocabulary, options.cache_directory);
}

// A single file has the name that the spec says, which all ranks have.
uint64_t HashSources(const Corpus& corpus, const std::string& path, const Tokenizer& tokenizer) {
  std::string text = absl::StrCat(corpus.ContentHash(), "/", Hash128Hex(tokenizer.json()));
  for (const Document& document : corpus.documents) {
    absl::string_view name = document.name;
    absl::ConsumePrefix(&name, path);
    absl::StrAppend(&text, "/", name.size(), ":", name, "=", document.bytes().size());
  }
  return Hash64(text);
}

absl::Status OpenText(Files& files, const DatasetOptions& options, Dataset& dataset,
                      Tokens& tokens) {
  const TextFormat format =
      options.format == DatasetOptions::Format::kText ? TextFormat::kText : TextFormat::kBytes;
  MUSTER_ASSIGN_OR_RETURN(const Corpus corpus, OpenCorpus(files, options.path, format));
  MUSTER_ASSIGN_OR_RETURN(dataset.tokenizer, MakeTokenizer(files, corpus, options));
  dataset.vocabulary = dataset.tokenizer->vocabulary();
  dataset.sources = HashSources(corpus, options.path, *dataset.tokenizer);
  MUSTER_ASSIGN_OR_RETURN(tokens,
                          Tokenize(files, corpus, *dataset.tokenizer, options.cache_directory));
  return absl::OkStatus();
}

absl::Status OpenTokens(Files& files, const DatasetOptions& options, Dataset& dataset,
                        Tokens& tokens) {
  const bool learns = options.tokenizer == DatasetOptions::TokenizerKind::kBpe;
  if (learns && options.tokenizer_path.empty()) {
    return absl::InvalidArgumentError(
        "data.tokenizer: no tokenizer is trained on format Tokens, which another one has made: "
        "give "
        "the uri of that, or leave it out and set model.vocabulary");
  }
  MUSTER_ASSIGN_OR_RETURN(tokens, OpenTokenFile(files, options.path, options.token_type));
  dataset.token_file = options.path;
  if (options.tokenizer_path.empty()) return absl::OkStatus();
  MUSTER_ASSIGN_OR_RETURN(dataset.tokenizer, LoadTokenizer(files, options.tokenizer_path));
  dataset.sources = Hash64(dataset.tokenizer->json());
  dataset.vocabulary = dataset.tokenizer->vocabulary();
  return absl::OkStatus();
}

// Keeps at least one window for validation, or none if no share is asked for.
absl::Status Split(const Tokens& tokens, const DatasetOptions& options, Dataset& dataset) {
  const uint64_t window = static_cast<uint64_t>(options.sequence) + 1;
  uint64_t kept = static_cast<uint64_t>(static_cast<double>(tokens.size()) * options.validation);
  if (options.validation > 0.0) kept = std::max(kept, window);
  if (tokens.size() < window || tokens.size() - std::min(kept, tokens.size()) < window) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.path, ": ", tokens.size(), " tokens are too few: one sequence of ",
        options.sequence, " needs ", window,
        kept > 0 ? absl::StrCat(", and ", kept, " are kept for validation") : std::string()));
  }
  const uint64_t cut = tokens.size() - kept;
  dataset.training = tokens.Slice(0, cut);
  dataset.validation = tokens.Slice(cut, tokens.size());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Dataset> OpenDataset(Files& files, const DatasetOptions& options) {
  if (options.sequence <= 0) return absl::InvalidArgumentError("sequence must be positive");
  if (!(options.validation >= 0.0 && options.validation <= 0.5)) {
    return absl::InvalidArgumentError("data.validation must be from 0 to 0.5");
  }
  Dataset dataset;
  Tokens tokens;
  if (options.format == DatasetOptions::Format::kTokens) {
    MUSTER_RETURN_IF_ERROR(OpenTokens(files, options, dataset, tokens));
  } else {
    MUSTER_RETURN_IF_ERROR(OpenText(files, options, dataset, tokens));
  }
  MUSTER_RETURN_IF_ERROR(Split(tokens, options, dataset));
  dataset.unigram_entropy =
      UnigramEntropy(dataset.validation.size() > 0 ? dataset.validation : dataset.training);
  return dataset;
}

double UnigramEntropy(const Tokens& tokens) {
  const uint64_t size = std::min(tokens.size(), kEntropyTokens);
  std::map<int64_t, uint64_t> counts;
  std::vector<int64_t> part(kCopyTokens);
  for (uint64_t at = 0; at < size; at += part.size()) {
    part.resize(std::min<uint64_t>(part.size(), size - at));
    tokens.Copy(at, part);
    for (const int64_t token : part) ++counts[token];
  }
  double entropy = 0.0;
  for (const auto& [token, count] : counts) {
    const double share = static_cast<double>(count) / static_cast<double>(size);
    entropy -= share * std::log(share);
  }
  return entropy;
}

}  // namespace muster::trainer
