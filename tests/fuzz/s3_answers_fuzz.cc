// Reads answers of an object store from any bytes: no crash, errors are short and plain text, and
// the same bytes mean the same again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/time/time.h"
#include "base/object_store/s3_answers.h"
#include "base/object_store/xml_reader.h"

namespace muster {
namespace {

constexpr size_t kMostError = 1000;

void Check(const std::string& bytes) {
  const auto document = ReadXml(bytes);
  if (document.ok() && document->name.empty()) std::abort();
  const auto page = ParseObjectPage(bytes);
  if (page.ok() && ParseObjectPage(bytes)->objects.size() != page->objects.size()) std::abort();
  (void)ParseUploadPage(bytes);
  (void)ParseUploadId(bytes);
  (void)CheckCompleted(bytes);
  for (const int status : {200, 301, 400, 403, 404, 412, 503}) {
    const HttpAnswer answer = {
        status, {{"content-type", "application/xml"}, {"date", bytes}}, bytes};
    const S3Verdict verdict = JudgeAnswer(answer, absl::UnixEpoch());
    if (status != 200 && verdict.status.ok()) std::abort();
    const auto message = verdict.status.message();
    if (message.size() > kMostError) std::abort();
    if (!std::all_of(message.begin(), message.end(), absl::ascii_isprint)) std::abort();
  }
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  muster::Check(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
