// muster-generate writes text from a checkpoint, or the checkpoint's model for other programs. It
// is started by `muster generate` and `muster checkpoints export`, with its request as a JSON
// document on its standard input; it has no flags.

#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/object_store/storage.h"
#include "base/status_macros.h"
#include "trainer/checkpoint/export.h"
#include "trainer/generate/generate.h"
#include "trainer/generate/language_model.h"
#include "trainer/generate/request.h"

namespace muster::trainer {
namespace {

void Show(const GeneratedToken& token, bool as_json) {
  if (as_json) {
    const Json line = {
        {"token", token.token}, {"logProbability", token.log_probability}, {"text", token.text}};
    std::printf("%s\n", DumpJson(line).c_str());
  } else {
    std::fwrite(token.text.data(), 1, token.text.size(), stdout);
  }
  std::fflush(stdout);
}

absl::Status Export(const ExportRequest& request) {
  MUSTER_ASSIGN_OR_RETURN(const std::shared_ptr<Files> files,
                          OpenStorage(request.checkpoint, request.store));
  MUSTER_ASSIGN_OR_RETURN(
      const ExportedModel model,
      ExportModel(*files, request.checkpoint, FileSystem(), request.out, request.max_shard_bytes));
  if (request.as_json) {
    const Json line = {{"directory", request.out},
                       {"step", model.step},
                       {"tensors", model.tensors},
                       {"bytes", model.bytes},
                       {"files", model.shards}};
    std::printf("%s\n", DumpJson(line).c_str());
  } else {
    std::printf("%s: the model after step %lld, %zu tensors of %llu bytes in %zu %s\n",
                request.out.c_str(), static_cast<long long>(model.step), model.tensors,
                static_cast<unsigned long long>(model.bytes), model.shards,
                model.shards == 1 ? "file" : "files");
  }
  return absl::OkStatus();
}

absl::Status WriteText(const TextRequest& request) {
  MUSTER_ASSIGN_OR_RETURN(const std::shared_ptr<Files> files,
                          OpenStorage(request.checkpoint, request.store));
  MUSTER_ASSIGN_OR_RETURN(const auto model, LanguageModel::Open(*files, request.checkpoint));
  if (model->tokenizer() == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(request.checkpoint,
                     " has no tokenizer.json: its run was trained on token ids, "
                     "and a prompt is text"));
  }
  const NextToken next = {model->positions(), [&model](std::span<const uint32_t> tokens) {
                            return model->NextLogits(tokens);
                          }};
  if (!request.as_json) std::fwrite(request.prompt.data(), 1, request.prompt.size(), stdout);
  const absl::Status status =
      Generate(next, *model->tokenizer(), request.prompt, request.options,
               [&request](const GeneratedToken& token) { Show(token, request.as_json); });
  if (!request.as_json) std::printf("\n");
  return status;
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "muster: %s\n", std::string(status.message()).c_str());
  const bool mendable = absl::IsInvalidArgument(status) || absl::IsAlreadyExists(status);
  return mendable ? kExitBadInput : kExitFailed;
}

absl::Status Run(const Request& request) {
  const auto* text = std::get_if<TextRequest>(&request);
  return text != nullptr ? WriteText(*text) : Export(std::get<ExportRequest>(request));
}

}  // namespace
}  // namespace muster::trainer

int main() {
  using namespace muster::trainer;  // NOLINT
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  const auto request = ReadRequest(text);
  if (!request.ok()) {
    std::fprintf(stderr, "muster-generate is started by `muster generate`: %s\n",
                 std::string(request.status().message()).c_str());
    return muster::kExitBadInput;
  }
  const absl::Status status = Run(*request);
  return status.ok() ? muster::kExitOk : Fail(status);
}
