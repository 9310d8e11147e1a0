#ifndef MUSTER_TRAINER_DATA_CACHE_FILE_LOCK_H_
#define MUSTER_TRAINER_DATA_CACHE_FILE_LOCK_H_

#include <string>

namespace muster::trainer {

// Lets one of the processes of a machine that find a cache file missing make it, while the others
// wait in this constructor. Look for the file again after construction. The lock is released with
// the object, or with the process, and the next one gets it. A process that cannot lock (the
// directory is missing or read-only) does not wait, so at worst all make the same file.
class CacheFileLock {
 public:
  // Waits for the lock of the file `path`: `path`.lock, which is removed afterwards.
  explicit CacheFileLock(const std::string& path);
  ~CacheFileLock();
  CacheFileLock(const CacheFileLock&) = delete;
  CacheFileLock& operator=(const CacheFileLock&) = delete;

  // Returns true if this object holds the lock, so that others wait for it.
  bool held() const { return fd_ >= 0; }

 private:
  void Close();

  const std::string lock_;
  int fd_ = -1;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_DATA_CACHE_FILE_LOCK_H_
