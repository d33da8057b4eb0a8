#include "support/golden.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace outrider::testing {

std::string data_path(const std::string& relative) {
  return std::string(OUTRIDER_TEST_DATA) + "/" + relative;
}
std::string model_path(const std::string& relative) { return std::string(OUTRIDER_MODELS) + "/" + relative; }

base::Json read_json(const std::string& path) {
  auto text = base::read_text_file(path);
  OUTRIDER_CHECK_MSG(text.ok(), path);
  auto tree = base::parse_json(*text, path);
  OUTRIDER_CHECK_MSG(tree.ok(), path);
  return std::move(tree).value();
}

const base::Json& at(const base::Json& object, const std::string& key) {
  const base::Json* found = object.find(key);
  OUTRIDER_CHECK_MSG(found != nullptr, key);
  return *found;
}

std::int64_t integer_at(const base::Json& object, const std::string& key) {
  return *at(object, key).integer();
}

std::vector<base::TokenId> ids_of(const base::Json& array) {
  std::vector<base::TokenId> ids;
  for (const base::Json& item : *array.array()) ids.push_back(static_cast<base::TokenId>(*item.integer()));
  return ids;
}

std::vector<float> floats_of(const base::Json& array) {
  std::vector<float> values;
  for (const base::Json& item : *array.array()) values.push_back(static_cast<float>(*item.number()));
  return values;
}

namespace {
checkpoint::Checkpoint open_file(const std::string& path) {
  auto file = checkpoint::Checkpoint::open(path, [](const std::string&) {});
  OUTRIDER_CHECK_MSG(file.ok(), path);
  return std::move(file).value();
}
}  // namespace

GoldenTensors::GoldenTensors(const std::string& path) : file_(open_file(path)) {}

tensor::Matrix GoldenTensors::floats(const std::string& name) const {
  const checkpoint::TensorEntry* entry = file_.find(name);
  OUTRIDER_CHECK_MSG(entry != nullptr && entry->view.dtype == tensor::Dtype::F32, name);
  const auto& shape = entry->view.shape;
  tensor::Matrix matrix(shape.size() == 2 ? shape[0] : 1, shape.back());
  std::memcpy(matrix.view().data, entry->view.data, static_cast<std::size_t>(entry->view.byte_count()));
  return matrix;
}

std::vector<std::int32_t> GoldenTensors::integers(const std::string& name) const {
  const checkpoint::TensorEntry* entry = file_.find(name);
  OUTRIDER_CHECK_MSG(entry != nullptr && entry->view.dtype == tensor::Dtype::I32, name);
  std::vector<std::int32_t> values(static_cast<std::size_t>(entry->view.element_count()));
  std::memcpy(values.data(), entry->view.data, static_cast<std::size_t>(entry->view.byte_count()));
  return values;
}

float largest_difference(tensor::MatrixView<const float> ours, tensor::MatrixView<const float> golden) {
  if (ours.rows != golden.rows || ours.columns != golden.columns)
    return std::numeric_limits<float>::infinity();
  float largest = 0;
  for (std::int64_t row = 0; row < ours.rows; ++row) {
    for (std::int64_t column = 0; column < ours.columns; ++column) {
      const float difference = std::abs(ours.row(row)[column] - golden.row(row)[column]);
      largest =
          std::isnan(difference) ? std::numeric_limits<float>::infinity() : std::max(largest, difference);
    }
  }
  return largest;
}

}  // namespace outrider::testing
