// muster-generate writes text from a checkpoint. It is started by `muster generate`, with its
// request as a JSON document on its standard input; it has no flags.

#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/exit_codes.h"
#include "base/files.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "trainer/generate/generate.h"
#include "trainer/generate/language_model.h"

namespace muster::trainer {
namespace {

struct Request {
  std::string checkpoint;
  std::string prompt;
  bool as_json = false;
  GenerateOptions options;
};

template <typename T>
absl::Status Read(const Json& json, const char* field, T& value) {
  const auto found = json.find(field);
  if (found == json.end()) return absl::InvalidArgumentError(absl::StrCat(field, " is missing"));
  try {
    found->get_to(value);
  } catch (const Json::exception&) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " is of the wrong type: ", DumpJson(*found)));
  }
  return absl::OkStatus();
}

absl::StatusOr<Request> ReadRequest(const std::string& text) {
  MUSTER_ASSIGN_OR_RETURN(const Json json, ParseJson(text));
  if (!json.is_object()) return absl::InvalidArgumentError("the request is not a JSON object");
  Request request;
  SamplingOptions& sampling = request.options.sampling;
  MUSTER_RETURN_IF_ERROR(Read(json, "checkpoint", request.checkpoint));
  MUSTER_RETURN_IF_ERROR(Read(json, "prompt", request.prompt));
  MUSTER_RETURN_IF_ERROR(Read(json, "json", request.as_json));
  MUSTER_RETURN_IF_ERROR(Read(json, "maxTokens", request.options.max_tokens));
  MUSTER_RETURN_IF_ERROR(Read(json, "temperature", sampling.temperature));
  MUSTER_RETURN_IF_ERROR(Read(json, "topK", sampling.top_k));
  MUSTER_RETURN_IF_ERROR(Read(json, "topP", sampling.top_p));
  MUSTER_RETURN_IF_ERROR(Read(json, "seed", request.options.seed));
  return request;
}

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

absl::Status Run(const Request& request) {
  MUSTER_ASSIGN_OR_RETURN(const auto model, LanguageModel::Open(FileSystem(), request.checkpoint));
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
  return absl::IsInvalidArgument(status) ? kExitBadInput : kExitFailed;
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
