// A file mapped read-only. Only regular files; nothing is read ahead.
#pragma once

#include <cstddef>
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

 private:
  MappedFile(std::string path, const std::byte* data, std::size_t size) : path_(std::move(path)), data_(data), size_(size) {}
  std::string path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// A whole small file as text, refused beyond `bytes_max`.
Result<std::string> read_text_file(const std::string& path, std::size_t bytes_max = std::size_t{256} << 20);

}  // namespace outrider::base
