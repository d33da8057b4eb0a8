#include "checkpoint/packed_writer.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/json_write.h"
#include "checkpoint/folder.h"

namespace outrider::checkpoint {
namespace {

constexpr std::size_t kWriteBytes = std::size_t{2} << 20;
constexpr std::size_t kPrefix = 8;  // safetensors: the header's length

std::string partial(const std::string& path) { return path + ".partial"; }

base::Refusal refuse_write(const std::string& path) {
  return base::refuse({.field = printable_path(path),
                       .found = std::strerror(errno),
                       .rule = "cannot be written",
                       .remedy = "is there room, and the right to write?"});
}

// A tensor's entry in the header, its part of the list of matrices with quotes escaped, and its name in each.
std::size_t header_room(const std::vector<TensorSpec>& expected) {
  std::size_t bytes = 4096;
  for (const TensorSpec& spec : expected) bytes += 400 + 4 * spec.name.size();
  const auto unit = static_cast<std::size_t>(kPackedAlignment);
  return (bytes + kPrefix + unit - 1) / unit * unit - kPrefix;
}

void write_entry(base::JsonWriter& json, const std::string& name, tensor::Dtype dtype,
                 const std::vector<std::int64_t>& shape, std::int64_t begin, std::int64_t end) {
  json.key(name).begin_object().key("dtype").value(tensor::name_of(dtype)).key("shape").values(shape);
  json.key("data_offsets").begin_array().value(begin).value(end).end_array().end_object();
}

}  // namespace

base::Result<PackedWriter> PackedWriter::create(const std::string& path, kernels::WeightFormat quantization,
                                                const std::vector<TensorSpec>& expected) {
  PackedWriter writer;
  writer.path_ = path;
  writer.contents_.quantization = quantization;
  writer.header_bytes_ = header_room(expected);
  writer.file_.reset(std::fopen(partial(path).c_str(), "wbx"));  // x: never over a file that is there
  if (!writer.file_) return refuse_write(partial(path));
  writer.buffer_.resize(kWriteBytes);
  (void)std::setvbuf(writer.file_.get(), writer.buffer_.data(), _IOFBF, writer.buffer_.size());
  const std::string room(kPrefix + writer.header_bytes_, ' ');
  writer.write(room.data(), room.size());
  return writer;
}

PackedWriter::~PackedWriter() {
  if (!file_) return;  // finished, or moved from
  file_.reset();
  (void)::unlink(partial(path_).c_str());
}

void PackedWriter::write(const void* data, std::size_t bytes) {
  failed_ |= std::fwrite(data, 1, bytes, file_.get()) != bytes;
}

void PackedWriter::add_matrix(std::vector<PackedSource> sources, const kernels::PackedMatrix& matrix) {
  OUTRIDER_CHECK(!sources.empty());
  const std::int64_t bytes = matrix.byte_count();
  OUTRIDER_CHECK_MSG(bytes % kPackedAlignment == 0, "whole panels keep the alignment");
  PackedMatrixEntry entry{.tensor = sources[0].name + ".packed",
                          .format = matrix.format(),
                          .inputs = matrix.inputs(),
                          .sources = std::move(sources)};
  OUTRIDER_CHECK(entry.outputs() == matrix.outputs());
  contents_.matrices.push_back(std::move(entry));
  sizes_.push_back(bytes);
  write(matrix.data(), static_cast<std::size_t>(bytes));
}

void PackedWriter::add_plain(const std::string& name, const tensor::TensorView& view) {
  const auto bytes = static_cast<std::size_t>(view.byte_count());
  plain_.push_back({.name = name,
                    .dtype = view.dtype,
                    .shape = view.shape,
                    .bytes = std::vector<std::byte>(view.data, view.data + bytes)});
}

bool PackedWriter::has(const std::string& name) const {
  const auto holds = [&](const PackedMatrixEntry& matrix) {
    return std::any_of(matrix.sources.begin(), matrix.sources.end(),
                       [&](const PackedSource& source) { return source.name == name; });
  };
  return std::any_of(plain_.begin(), plain_.end(), [&](const Plain& p) { return p.name == name; }) ||
         std::any_of(contents_.matrices.begin(), contents_.matrices.end(), holds);
}

std::string PackedWriter::header() const {
  base::JsonWriter json;
  json.begin_object().key("__metadata__").begin_object();
  for (const auto& [key, value] : packed_metadata(contents_)) json.key(key).value(value);
  json.end_object();
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    write_entry(json, contents_.matrices[i].tensor, tensor::Dtype::U8, {sizes_[i]}, offset,
                offset + sizes_[i]);
    offset += sizes_[i];
  }
  for (const Plain& plain : plain_) {
    const auto bytes = static_cast<std::int64_t>(plain.bytes.size());
    write_entry(json, plain.name, plain.dtype, plain.shape, offset, offset + bytes);
    offset += bytes;
  }
  json.end_object();
  return json.text();
}

base::Result<base::Done> PackedWriter::finish() {
  for (const Plain& plain : plain_) write(plain.bytes.data(), plain.bytes.size());
  std::string text = header();
  OUTRIDER_CHECK_MSG(text.size() <= header_bytes_, "the header is larger than the room kept for it");
  text.resize(header_bytes_, ' ');  // spaces may follow the object
  const std::uint64_t length = header_bytes_;
  failed_ |= std::fseek(file_.get(), 0, SEEK_SET) != 0;
  write(&length, sizeof length);
  write(text.data(), text.size());
  failed_ |= std::fflush(file_.get()) != 0;
  if (failed_) return refuse_write(path_);
  file_.reset();
  if (std::rename(partial(path_).c_str(), path_.c_str()) != 0) return refuse_write(path_);
  return base::Done{};
}

}  // namespace outrider::checkpoint
