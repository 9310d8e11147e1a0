#include "trainer/generate/request.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"

namespace muster::trainer {
namespace {

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

// A checkpoint in a directory needs none.
absl::Status ReadStore(const Json& json, StoreAddress& store) {
  if (json.contains("endpoint")) MUSTER_RETURN_IF_ERROR(Read(json, "endpoint", store.endpoint));
  if (json.contains("region")) MUSTER_RETURN_IF_ERROR(Read(json, "region", store.region));
  return absl::OkStatus();
}

absl::StatusOr<ExportRequest> ReadExportRequest(const Json& json) {
  ExportRequest request;
  MUSTER_RETURN_IF_ERROR(Read(json, "checkpoint", request.checkpoint));
  MUSTER_RETURN_IF_ERROR(ReadStore(json, request.store));
  MUSTER_RETURN_IF_ERROR(Read(json, "out", request.out));
  MUSTER_RETURN_IF_ERROR(Read(json, "maxShardBytes", request.max_shard_bytes));
  MUSTER_RETURN_IF_ERROR(Read(json, "json", request.as_json));
  return request;
}

absl::StatusOr<TextRequest> ReadTextRequest(const Json& json) {
  TextRequest request;
  SamplingOptions& sampling = request.options.sampling;
  MUSTER_RETURN_IF_ERROR(Read(json, "checkpoint", request.checkpoint));
  MUSTER_RETURN_IF_ERROR(ReadStore(json, request.store));
  MUSTER_RETURN_IF_ERROR(Read(json, "prompt", request.prompt));
  MUSTER_RETURN_IF_ERROR(Read(json, "json", request.as_json));
  MUSTER_RETURN_IF_ERROR(Read(json, "maxTokens", request.options.max_tokens));
  MUSTER_RETURN_IF_ERROR(Read(json, "temperature", sampling.temperature));
  MUSTER_RETURN_IF_ERROR(Read(json, "topK", sampling.top_k));
  MUSTER_RETURN_IF_ERROR(Read(json, "topP", sampling.top_p));
  MUSTER_RETURN_IF_ERROR(Read(json, "seed", request.options.seed));
  return request;
}

}  // namespace

absl::StatusOr<Request> ReadRequest(const std::string& text) {
  MUSTER_ASSIGN_OR_RETURN(const Json json, ParseJson(text));
  if (!json.is_object()) return absl::InvalidArgumentError("the request is not a JSON object");
  if (json.contains("out")) return ReadExportRequest(json);
  return ReadTextRequest(json);
}

}  // namespace muster::trainer
