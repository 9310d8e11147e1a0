#ifndef MUSTER_TRAINER_MODEL_FAMILIES_CONFIG_READER_H_
#define MUSTER_TRAINER_MODEL_FAMILIES_CONFIG_READER_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"

namespace muster::trainer {

// Reads Hugging Face's config.json field by field, and keeps every error. An absent field, like
// null, has the value that transformers gives it.
class ConfigReader {
 public:
  explicit ConfigReader(const Json& config) : config_(config) {}

  // Returns an integer from 1 to 2^24.
  int32_t Integer(const char* field);
  int32_t IntegerOr(const char* field, int32_t otherwise);
  // Returns a number that is more than 0.
  double NumberOr(const char* field, double otherwise);
  bool BoolOr(const char* field, bool otherwise);
  // Notes a difference unless the field is absent or `only`, because models are made here with that
  // value alone.
  void Requires(const char* field, const Json& only);

  // Returns null if the field is absent.
  const Json& Find(const char* field);
  // Returns true if any of the functions above was asked for the field.
  bool WasAsked(const std::string& field) const { return asked_.contains(field); }
  // Notes that a field cannot be read, so that the shape is not known.
  void Fail(const std::string& what) { unreadable_.push_back(what); }
  const std::vector<std::string>& unreadable() const { return unreadable_; }
  const std::vector<std::string>& differences() const { return differences_; }

 private:
  const Json& config_;
  std::set<std::string> asked_;
  std::vector<std::string> unreadable_;
  std::vector<std::string> differences_;
};

// Gives a field, if it is there and not null, another name, in place of a field that has that name.
void RenameField(Json& config, const char* field, const char* name);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_FAMILIES_CONFIG_READER_H_
