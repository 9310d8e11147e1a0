#include "cli/kubectl/short_flags.h"

#include <cstddef>

#include "absl/strings/str_cat.h"

namespace muster::cli::kubectl {

std::vector<std::string> WithLongFlags(const std::vector<std::string>& arguments,
                                       const ShortFlags& letters) {
  std::vector<std::string> all;
  bool flags = true;
  for (const std::string& word : arguments) {
    flags = flags && word != "--";
    const bool is_short = flags && word.size() > 1 && word[0] == '-' && word[1] != '-';
    const auto found = is_short ? letters.find(word[1]) : letters.end();
    if (found == letters.end()) {
      all.push_back(word);
      continue;
    }
    const size_t value = word.size() > 2 && word[2] == '=' ? 3 : 2;
    all.push_back(word.size() == 2 ? absl::StrCat("--", found->second)
                                   : absl::StrCat("--", found->second, "=", word.substr(value)));
  }
  return all;
}

}  // namespace muster::cli::kubectl
