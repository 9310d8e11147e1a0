#ifndef MUSTER_TRAINER_DATA_CACHE_TURN_H_
#define MUSTER_TRAINER_DATA_CACHE_TURN_H_

#include <string>

namespace muster::trainer {

// Whose turn it is to make a cache file: of all processes of the machine that find it missing, one
// makes it while the others wait here. Look for the file again once it is constructed. The turn is
// given back with the object, or with the process, whose place then the next one takes. Who cannot
// lock (the directory is missing or read-only) does not wait, so at worst all make the same file.
class CacheTurn {
 public:
  // Of the file `path`; locks `path`.lock, which is removed afterwards.
  explicit CacheTurn(const std::string& path);
  ~CacheTurn();
  CacheTurn(const CacheTurn&) = delete;
  CacheTurn& operator=(const CacheTurn&) = delete;

  // Whether others wait for this one.
  bool held() const { return fd_ >= 0; }

 private:
  void Close();

  const std::string lock_;
  int fd_ = -1;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_DATA_CACHE_TURN_H_
