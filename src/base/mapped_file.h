// A file mapped read-only. Only regular files; nothing is read ahead.
//
// A file may be cut or written to while it is mapped. Reading beyond its new end would end the process
// (SIGBUS): from the first open() on, a signal handler puts zeros there instead, so that the read goes on,
// and check_unchanged() tells afterwards. A SIGBUS elsewhere in the process takes the way that it took
// before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace outrider::base {

class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

  // Refused if the file was cut, grown or written to since it was opened, or if a part of it could not be
  // read.
  Result<Done> check_unchanged() const;

 private:
  explicit MappedFile(std::string path) : path_(std::move(path)) {}

  std::string path_;
  int descriptor_ = -1;           // kept for check_unchanged: the path may name another file by then
  std::int64_t modified_ns_ = 0;  // when opened
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  int guard_ = -1;  // its place in the table that the signal handler reads; -1: none
};

// A whole small file as text, refused beyond `bytes_max`.
Result<std::string> read_text_file(const std::string& path, std::size_t bytes_max = std::size_t{256} << 20);

}  // namespace outrider::base
