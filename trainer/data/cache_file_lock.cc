#include "trainer/data/cache_file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace muster::trainer {

CacheFileLock::CacheFileLock(const std::string& path) : lock_(path + ".lock") {
  fd_ = open(lock_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd_ < 0) return;
  while (flock(fd_, LOCK_EX) != 0) {
    if (errno == EINTR) continue;
    Close();
    return;
  }
  // A process that finishes removes the name first. A lock without a name therefore means that the
  // making is over, well or not; a lock that still has its name, that the maker died.
  struct stat info;
  if (fstat(fd_, &info) != 0 || info.st_nlink == 0) Close();
}

CacheFileLock::~CacheFileLock() {
  if (fd_ < 0) return;
  unlink(lock_.c_str());
  Close();
}

void CacheFileLock::Close() {
  close(fd_);
  fd_ = -1;
}

}  // namespace muster::trainer
