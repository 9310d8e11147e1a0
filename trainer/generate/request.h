#ifndef MUSTER_TRAINER_GENERATE_REQUEST_H_
#define MUSTER_TRAINER_GENERATE_REQUEST_H_

#include <cstdint>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "base/object_store/storage.h"
#include "trainer/generate/generate.h"

namespace muster::trainer {

// Asks for text that goes on from a prompt.
struct TextRequest {
  std::string checkpoint;  // its own directory
  StoreAddress store;      // of an s3:// checkpoint
  std::string prompt;
  bool as_json = false;
  GenerateOptions options;
};

// Asks for the model of a checkpoint as transformers reads it, in the directory `out`.
struct ExportRequest {
  std::string checkpoint;
  StoreAddress store;
  std::string out;
  uint64_t max_shard_bytes = 0;
  bool as_json = false;
};

using Request = std::variant<TextRequest, ExportRequest>;

// Parses a JSON document; with the field `out` it asks for an export. InvalidArgument names the
// field that is missing or of the wrong type.
absl::StatusOr<Request> ReadRequest(const std::string& text);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_GENERATE_REQUEST_H_
