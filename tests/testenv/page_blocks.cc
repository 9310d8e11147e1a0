#include "tests/testenv/page_blocks.h"

#include "absl/strings/str_cat.h"

namespace muster::tests {
namespace {

constexpr char kFence[] = "```";
constexpr char kEndOfComment[] = " -->\n";

}  // namespace

std::string BlockAfter(std::string_view page, const std::string& comment) {
  const std::string line = absl::StrCat("<!-- ", comment, kEndOfComment, kFence);
  const size_t mark = page.find(line);
  if (mark == std::string_view::npos) return "";
  const size_t language = mark + line.size();
  const size_t start = page.find('\n', language);
  if (start == std::string_view::npos) return "";
  const size_t end = page.find(absl::StrCat("\n", kFence), start);
  if (end == std::string_view::npos) return "";
  return std::string(page.substr(start + 1, end - start));
}

std::vector<std::string> BlockNames(std::string_view page, const std::string& mark) {
  const std::string comment = absl::StrCat("<!-- ", mark, ": ");
  std::vector<std::string> names;
  for (size_t at = 0; (at = page.find(comment, at)) != std::string_view::npos;) {
    at += comment.size();
    names.emplace_back(page.substr(at, page.find(kEndOfComment, at) - at));
  }
  return names;
}

}  // namespace muster::tests
