#include "cli/jobs/worker_program.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "operator/api/pod_template.h"

namespace muster::cli {
namespace {

constexpr size_t kMaxScriptBytes = size_t{16} << 20;
constexpr const char* kEndings[] = {".py", ".sh",  ".bash", ".pl", ".rb",
                                    ".js", ".lua", ".jl",   ".r"};

bool IsScript(const std::string& name, const std::string& contents) {
  const std::string lower = absl::AsciiStrToLower(name);
  return absl::StartsWith(contents, "#!") ||
         std::any_of(std::begin(kEndings), std::end(kEndings),
                     [&lower](const char* ending) { return absl::EndsWith(lower, ending); });
}

void Append(const std::vector<std::string>& list, std::vector<std::string>& words) {
  words.insert(words.end(), list.begin(), list.end());
}

}  // namespace

WorkerProgram ReadWorkerProgram(const v1alpha1::TrainingJobSpec& spec) {
  WorkerProgram program;
  const Json pod_template = control::PodTemplateOf(spec);
  for (const auto& [index, container] : control::WorkerContainers(pod_template)) {
    Append(StringsField(*container, "command"), program.words);
    Append(StringsField(*container, "args"), program.words);
    const Json& directory = ValueField(*container, "workingDir");
    if (directory.is_string()) program.directory = directory.get<std::string>();
  }
  return program;
}

std::string ScriptHashes(const std::vector<std::string>& command, const std::string& directory,
                         Files& files) {
  Json prints = Json::object();
  for (size_t i = 0; i < command.size(); ++i) {
    const std::vector<std::string> words =
        absl::StrSplit(command[i], absl::ByAnyChar(" \t\n;|&<>()\"'"), absl::SkipEmpty());
    for (const std::string& word : words) {
      const std::string path = word.front() == '/' ? word : JoinPath(directory, word);
      const auto info = files.Stat(path);
      if (!info.ok() || info->kind != FileKind::kFile || info->size > kMaxScriptBytes) continue;
      const auto contents = ReadFile(files, path, kMaxScriptBytes);
      if (!contents.ok()) continue;
      const bool program = i == 0 && absl::StrContains(word, '/');
      if (program || IsScript(word, *contents)) prints[word] = Hash128Hex(*contents);
    }
  }
  return DumpJson(prints);
}

}  // namespace muster::cli
