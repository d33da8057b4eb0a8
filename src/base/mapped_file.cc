#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/read_guard.h"

namespace outrider::base {
namespace {

Refusal refuse_path(const std::string& path, std::string rule) {
  return refuse(Problem{.field = path, .found = "", .rule = std::move(rule), .remedy = ""});
}

struct OpenFile {
  int descriptor;
  std::size_t size;
  std::int64_t modified_ns;
};

std::int64_t modified_ns(const struct stat& status) {
  return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

// O_NONBLOCK: opening a FIFO must not wait for a writer.
Result<OpenFile> open_regular(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return refuse_path(path, std::string("cannot be opened: ") + std::strerror(errno));
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    return refuse_path(path, "must be a regular file");
  }
  return OpenFile{descriptor, static_cast<std::size_t>(status.st_size), modified_ns(status)};
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  OUTRIDER_TRY(const OpenFile opened, open_regular(path));
  MappedFile file(path);
  file.descriptor_ = opened.descriptor;
  file.modified_ns_ = opened.modified_ns;
  if (opened.size == 0) return file;
  void* data = ::mmap(nullptr, opened.size, PROT_READ, MAP_PRIVATE, opened.descriptor, 0);
  if (data == MAP_FAILED) return refuse_path(path, std::string("cannot be mapped: ") + std::strerror(errno));
  // Where the file system can, it then reads and maps in huge pages; a hint, so that its failure is none.
  (void)::madvise(data, opened.size, MADV_HUGEPAGE);
  file.data_ = static_cast<const std::byte*>(data);
  file.size_ = opened.size;
  file.guard_ = guard_range(file.data_, file.size_);
  return file;
}

Result<Done> MappedFile::check_unchanged() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0)
    return refuse_path(path_, std::string("cannot be asked: ") + std::strerror(errno));
  if (static_cast<std::size_t>(status.st_size) != size_) {
    return refuse_path(path_, "had " + std::to_string(size_) + " bytes when it was opened and has " +
                                  std::to_string(status.st_size) + " now: it was changed while it was read");
  }
  if (modified_ns(status) != modified_ns_) return refuse_path(path_, "was written to while it was read");
  if (range_was_harmed(guard_))
    return refuse_path(path_, "could not be read to its end: the disk or a cut file");
  return Done{};
}

MappedFile::MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this == &other) return *this;
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(modified_ns_, other.modified_ns_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(guard_, other.guard_);
  return *this;
}

MappedFile::~MappedFile() {
  release_range(guard_);
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<std::string> read_text_file(const std::string& path, std::size_t bytes_max) {
  OUTRIDER_TRY(const OpenFile file, open_regular(path));
  std::string text;
  bool failed = file.size > bytes_max;
  if (!failed) {
    text.resize(file.size);
    std::size_t done = 0;
    while (done < text.size()) {
      const ssize_t count = ::read(file.descriptor, text.data() + done, text.size() - done);
      if (count <= 0) break;
      done += static_cast<std::size_t>(count);
    }
    text.resize(done);
  }
  ::close(file.descriptor);
  if (failed) {
    return refuse_path(path, "has " + std::to_string(file.size) + " bytes; at most " +
                                 std::to_string(bytes_max) + " are read");
  }
  if (text.size() != file.size) return refuse_path(path, "could not be read to its end");
  return text;
}

}  // namespace outrider::base
