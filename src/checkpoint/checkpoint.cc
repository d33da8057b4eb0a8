#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <utility>

#include "base/inspector.h"
#include "base/strings.h"
#include "checkpoint/folder.h"
#include "checkpoint/index.h"
#include "checkpoint/packed.h"
#include "checkpoint/safetensors.h"

namespace outrider::checkpoint {
namespace {

constexpr char kSingle[] = "model.safetensors";
constexpr char kIndex[] = "model.safetensors.index.json";
constexpr std::size_t kIndexBytesMax = std::size_t{64} << 20;

void warn_of(const Warn& warn, const std::string& text) {
  if (warn) warn(text);
}

// Files that lie there and are not read are told, not passed over in silence.
void warn_of_unread(const std::string& folder, const std::vector<std::string>& read, const Warn& warn) {
  std::vector<std::string> unread = names_ending(folder, ".safetensors");
  std::erase_if(unread, [&](const std::string& name) {
    return std::find(read.begin(), read.end(), name) != read.end();
  });
  if (!unread.empty()) warn_of(warn, printable_path(folder) + ": not read: " + base::list_names(unread));
}

base::Refusal refuse_folder(const std::string& folder) {
  std::vector<std::string> there = names_ending(folder, ".safetensors");
  std::string remedy = "name a folder that holds one of them";
  if (!there.empty()) remedy = "name the file itself where it is one of " + base::list_names(there);
  const bool pickled = !names_ending(folder, ".bin").empty() || !names_ending(folder, ".pt").empty();
  if (pickled)
    remedy += "; .bin and .pt files may hold code and are never opened: convert them to safetensors";
  return base::refuse({.field = printable_path(folder),
                       .found = "",
                       .rule = std::string("holds neither ") + kSingle + " nor " + kIndex,
                       .remedy = std::move(remedy)});
}

std::int64_t share_of_bytes(std::int64_t bytes, std::int64_t rows, std::int64_t all_rows) {
  return static_cast<std::int64_t>(static_cast<double>(bytes) * static_cast<double>(rows) /
                                   static_cast<double>(all_rows));
}

}  // namespace

// Opens what a path names, shard by shard; its catalogue is handed over only if nothing was wrong.
class CheckpointOpener {
 public:
  CheckpointOpener(const std::string& path, const Warn& warn) : warn_(warn) { checkpoint_.path_ = path; }

  base::Result<Checkpoint> open() && {
    const std::string& path = checkpoint_.path_;
    if (is_folder(path)) {
      open_folder(path);
    } else if (path.ends_with(".index.json")) {
      const std::size_t slash = path.rfind('/');
      const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
      open_index(folder, path.substr(slash == std::string::npos ? 0 : slash + 1));
    } else {
      const std::size_t slash = path.rfind('/');
      add_file(path, path, slash == std::string::npos ? path : path.substr(slash + 1));
    }
    if (!inspector_.clean()) return std::move(inspector_).refuse();
    return std::move(checkpoint_);
  }

 private:
  void open_folder(const std::string& folder) {
    auto single = find_in_folder(folder, kSingle);
    auto index = find_in_folder(folder, kIndex);
    if (!single.ok()) inspector_.report_all(std::move(single).error());
    if (!index.ok()) inspector_.report_all(std::move(index).error());
    if (!inspector_.clean()) return;
    if (!single->has_value() && !index->has_value()) return inspector_.report_all(refuse_folder(folder));
    if (index->has_value()) {
      open_index(folder, kIndex);
      // A map that names model.safetensors as its only shard is fine; two different answers are not.
      const bool both =
          single->has_value() && inspector_.clean() &&
          std::none_of(shards_.begin(), shards_.end(), [](const auto& name) { return name == kSingle; });
      inspector_.require(!both, {.field = printable_path(folder),
                                 .found = std::string(kSingle) + " and " + kIndex,
                                 .rule = "must hold one of the two: they may be two different models",
                                 .remedy = "name the one that is meant"});
    } else {
      shards_ = {kSingle};
      add_file(join_path(folder, kSingle), **single, kSingle);
    }
    if (inspector_.clean()) warn_of_unread(folder, shards_, warn_);
  }

  void open_index(const std::string& folder, const std::string& name) {
    const std::string source = printable_path(join_path(folder, name));
    auto path = require_in_folder(folder, name);
    if (!path.ok()) return inspector_.report_all(std::move(path).error());
    auto text = base::read_text_file(*path, kIndexBytesMax);
    if (!text.ok()) return inspector_.report_all(std::move(text).error());
    auto index = parse_index(*text, source);
    if (!index.ok()) return inspector_.report_all(std::move(index).error());
    shards_ = index->shards;
    open_shards(folder, source);
    if (inspector_.clean()) check_map(*index, source);
    if (inspector_.clean()) check_total(*index, source);
  }

  void open_shards(const std::string& folder, const std::string& source) {
    std::vector<std::string> missing;
    for (const std::string& shard : shards_) {
      auto path = find_in_folder(folder, shard);
      if (!path.ok()) {
        inspector_.report_all(std::move(path).error());
      } else if (!path->has_value()) {
        missing.push_back(shard);
      } else {
        add_file(join_path(folder, shard), **path, shard);
      }
    }
    inspector_.require(missing.empty(),
                       {.field = source + ": weight_map",
                        .found = base::list_names(missing),
                        .rule = "the map names " + std::to_string(missing.size()) + " files that are missing",
                        .remedy = "fetch them again"});
  }

  // `path` is where the file lies, `shown` what the user would call it, `name` its name in the catalogue.
  void add_file(const std::string& shown, const std::string& path, const std::string& name) {
    auto file = base::MappedFile::open(path);
    if (!file.ok()) return inspector_.report_all(std::move(file).error());
    const std::string source = printable_path(shown);
    auto header = parse_safetensors(file->bytes(), source);
    if (!header.ok()) return inspector_.report_all(std::move(header).error());
    for (const std::string& warning : header->warnings) warn_of(warn_, source + ": " + warning);
    auto packed = parse_packed(header->metadata, source);
    if (!packed.ok()) return inspector_.report_all(std::move(packed).error());
    for (SafetensorsEntry& entry : header->entries) {
      const std::int64_t offset = header->data_start + entry.begin;
      TensorEntry tensor{.name = entry.name,
                         .view = {.data = file->bytes().data() + offset,
                                  .dtype = entry.dtype,
                                  .shape = std::move(entry.shape)},
                         .file = name,
                         .offset = offset};
      const auto [at, added] = checkpoint_.tensors_.try_emplace(entry.name, std::move(tensor));
      if (!added)
        twice_.push_back(base::printable(entry.name) + " (" + at->second.file + " and " + name + ")");
    }
    checkpoint_.files_.push_back(std::move(*file));
    if (packed->has_value()) add_packed(**packed, source, name);
  }

  // In the catalogue, the tensors of a packed file stand under their own names; their bytes are to be had as
  // whole matrices only.
  void add_packed(const PackedContents& contents, const std::string& source, const std::string& file) {
    inspector_.require(
        !checkpoint_.packed_quantization_ || checkpoint_.packed_quantization_ == contents.quantization,
        {.field = source + ": metadata quantization",
         .found = packed_name(contents.quantization),
         .rule = "must be the same in all files",
         .remedy = ""});
    checkpoint_.packed_quantization_ = contents.quantization;
    for (const PackedMatrixEntry& matrix : contents.matrices) add_packed_matrix(matrix, source, file);
  }

  void add_packed_matrix(const PackedMatrixEntry& matrix, const std::string& source,
                         const std::string& file) {
    const auto fault = [&](std::string found, std::string rule) {
      inspector_.report({.field = source + ": " + base::printable(matrix.tensor),
                         .found = std::move(found),
                         .rule = std::move(rule),
                         .remedy = ""});
    };
    const auto held = checkpoint_.tensors_.find(matrix.tensor);
    if (held == checkpoint_.tensors_.end() || held->second.packed_bytes || held->second.file != file) {
      return fault("", "is named as packed, but the file has no such tensor");
    }
    const TensorEntry entry = held->second;
    const std::int64_t bytes =
        kernels::PackedMatrix::packed_bytes(matrix.format, matrix.outputs(), matrix.inputs);
    if (entry.view.dtype != tensor::Dtype::U8) {
      return fault(std::string(tensor::name_of(entry.view.dtype)), "must be U8: it is packed");
    }
    if (entry.view.byte_count() != bytes) {
      return fault(std::to_string(entry.view.byte_count()) + " bytes",
                   "must have the " + std::to_string(bytes) + " of its " + std::to_string(matrix.outputs()) +
                       " x " + std::to_string(matrix.inputs) + " weights in " + packed_name(matrix.format));
    }
    if (entry.offset % kPackedAlignment != 0) {
      return fault("at byte " + std::to_string(entry.offset),
                   "must stand at a multiple of " + std::to_string(kPackedAlignment));
    }
    checkpoint_.tensors_.erase(held);
    Checkpoint::Packed packed{.names = {},
                              .tensor = {.format = matrix.format,
                                         .outputs = matrix.outputs(),
                                         .inputs = matrix.inputs,
                                         .bytes = entry.view.data}};
    std::int64_t rows = 0;
    for (const PackedSource& part : matrix.sources) {
      packed.names.push_back(part.name);
      const std::int64_t share = share_of_bytes(bytes, rows + part.rows, matrix.outputs()) -
                                 share_of_bytes(bytes, rows, matrix.outputs());
      rows += part.rows;
      TensorEntry logical{
          .name = part.name,
          .view = {.data = nullptr, .dtype = tensor::Dtype::U8, .shape = {part.rows, matrix.inputs}},
          .file = file,
          .offset = entry.offset,
          .packed_bytes = share};
      if (!checkpoint_.tensors_.try_emplace(part.name, std::move(logical)).second) {
        fault(base::printable(part.name), "packs a tensor that the file has already");
      }
    }
    checkpoint_.packed_.emplace(packed.names.front(), std::move(packed));
  }

  void check_map(const ShardIndex& index, const std::string& source) {
    inspector_.require(twice_.empty(), {.field = source,
                                        .found = base::list_names(twice_),
                                        .rule = "a tensor must stand in one file only",
                                        .remedy = ""});
    std::vector<std::string> absent, unnamed;
    for (const auto& [tensor, shard] : index.shard_of) {
      const TensorEntry* entry = checkpoint_.find(tensor);
      const bool told = entry != nullptr && !twice_.empty();
      if (!told && (entry == nullptr || entry->file != shard)) absent.push_back(tensor + " (" + shard + ")");
    }
    for (const auto& [name, entry] : checkpoint_.tensors_) {
      if (index.shard_of.find(name) == index.shard_of.end())
        unnamed.push_back(name + " (" + entry.file + ")");
    }
    inspector_.require(absent.empty(), {.field = source + ": weight_map",
                                        .found = base::list_names(absent),
                                        .rule = "the file must hold the tensor that the map says it holds",
                                        .remedy = ""});
    inspector_.require(unnamed.empty(), {.field = source + ": weight_map",
                                         .found = base::list_names(unnamed),
                                         .rule = "must name every tensor of its files",
                                         .remedy = ""});
  }

  void check_total(const ShardIndex& index, const std::string& source) {
    std::int64_t bytes = 0;
    for (const auto& [name, entry] : checkpoint_.tensors_) bytes += entry.stored_bytes();
    if (index.total_bytes && *index.total_bytes != static_cast<double>(bytes)) {
      warn_of(warn_, source + ": metadata: total_size = " + base::to_text(*index.total_bytes) +
                         ", but the tensors have " + std::to_string(bytes) + " bytes; the tensors count");
    }
  }

  const Warn& warn_;
  Checkpoint checkpoint_;
  base::Inspector inspector_;
  std::vector<std::string> shards_;  // what was to be read
  std::vector<std::string> twice_;   // tensors of two shards
};

base::Result<Checkpoint> Checkpoint::open(const std::string& path, const Warn& warn) {
  return CheckpointOpener(path, warn).open();
}

const TensorEntry* Checkpoint::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

base::Result<HeldTensor> Checkpoint::tensor(std::string_view name) const {
  const TensorEntry* entry = find(name);
  if (entry == nullptr) {
    return base::refuse({.field = printable_path(path_),
                         .found = base::printable(name),
                         .rule = "there is no such tensor",
                         .remedy = ""});
  }
  if (entry->packed_bytes) {
    return base::refuse({.field = printable_path(path_),
                         .found = base::printable(name),
                         .rule = "lies packed in another way than this model reads it",
                         .remedy = "pack the original files again with outrider quantize"});
  }
  return HeldTensor{.view = entry->view, .storage = {}};
}

std::optional<PackedTensor> Checkpoint::packed(std::span<const std::string> names) const {
  if (names.empty()) return std::nullopt;
  const auto found = packed_.find(names.front());
  if (found == packed_.end()) return std::nullopt;
  if (!std::equal(names.begin(), names.end(), found->second.names.begin(), found->second.names.end())) {
    return std::nullopt;
  }
  return found->second.tensor;
}

base::Result<base::Done> Checkpoint::check_unchanged() const {
  base::Inspector inspector;
  for (const base::MappedFile& file : files_) {
    auto check = file.check_unchanged();
    if (!check.ok()) inspector.report_all(std::move(check).error());
  }
  if (!inspector.clean()) return std::move(inspector).refuse();
  return base::Done{};
}

}  // namespace outrider::checkpoint
