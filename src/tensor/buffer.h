// An aligned owner of bytes. From 2 MiB on it is mapped in 2 MiB alignment and asks for huge pages, which
// gives one thread 10 to 18 % more read bandwidth. Moves, never copies. The bytes are zero.
// Memory that is not there is std::bad_alloc, as for every container of the library: the program's end says
// so (cli/command.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/check.h"
#include "tensor/view.h"

namespace outrider::tensor {

class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

  template <class T>
  T* as() {
    static_assert(std::is_trivially_copyable_v<T>);
    return reinterpret_cast<T*>(data_);
  }
  template <class T>
  const T* as() const {
    static_assert(std::is_trivially_copyable_v<T>);
    return reinterpret_cast<const T*>(data_);
  }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// An owned float matrix, rows padded to nothing: stride = columns.
class Matrix {
 public:
  Matrix() = default;
  Matrix(std::int64_t rows, std::int64_t columns)
      : buffer_(static_cast<std::size_t>(rows * columns) * sizeof(float)), rows_(rows), columns_(columns) {}
  MatrixView<float> view() { return {buffer_.as<float>(), rows_, columns_}; }
  MatrixView<const float> view() const { return {buffer_.as<float>(), rows_, columns_}; }
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }

 private:
  Buffer buffer_;
  std::int64_t rows_ = 0, columns_ = 0;
};

}  // namespace outrider::tensor
