#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace outrider::base {
namespace {

Refusal refuse_path(const std::string& path, std::string rule) {
  return refuse(Problem{.field = path, .found = "", .rule = std::move(rule), .remedy = ""});
}

struct OpenFile {
  int descriptor;
  std::size_t size;
};

// O_NONBLOCK: opening a FIFO must not wait for a writer.
Result<OpenFile> open_regular(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return refuse_path(path, std::string("cannot be opened: ") + std::strerror(errno));
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    return refuse_path(path, "must be a regular file");
  }
  return OpenFile{descriptor, static_cast<std::size_t>(status.st_size)};
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  OUTRIDER_TRY(const OpenFile file, open_regular(path));
  if (file.size == 0) {
    ::close(file.descriptor);
    return MappedFile(path, nullptr, 0);
  }
  void* data = ::mmap(nullptr, file.size, PROT_READ, MAP_PRIVATE, file.descriptor, 0);
  const int fault = errno;
  ::close(file.descriptor);
  if (data == MAP_FAILED) return refuse_path(path, std::string("cannot be mapped: ") + std::strerror(fault));
  return MappedFile(path, static_cast<const std::byte*>(data), file.size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
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
    return refuse_path(path, "has " + std::to_string(file.size) + " bytes; at most " + std::to_string(bytes_max) + " are read");
  }
  if (text.size() != file.size) return refuse_path(path, "could not be read to its end");
  return text;
}

}  // namespace outrider::base
