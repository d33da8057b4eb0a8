// Lists the tensors of a checkpoint as groups: the one place where published names, shapes, storage formats
// and cuts meet. A family says what it has; expected tensors, parameters and bytes all follow from the list.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/facts.h"
#include "checkpoint/model_shape.h"

namespace outrider::checkpoint {

// What follows a linear layer's name on disk.
struct LinearNames {
  std::string weight = ".weight";
  std::string scale = ".weight_scale_inv";
};

class TensorLister {
 public:
  explicit TensorLister(tensor::Dtype dtype) : dtype_(dtype) {}

  // Where the following tensors live.
  void at(Place place) { place_ = place, layer_.reset(); }
  void at_layer(int layer) { place_ = Place::Layer, layer_ = layer; }
  void drafter(bool is) { drafter_ = is; }
  void prefix(std::string text) { prefix_ = std::move(text); }  // before every name

  // A tensor of the model's own type, or of a given one. `units`: heads or groups that the cut may not split.
  TensorGroup& add(const std::string& name, std::vector<std::int64_t> shape, Cut cut = Cut::Replicated,
                   int units = 1);
  TensorGroup& add_typed(const std::string& name, tensor::Dtype dtype, std::vector<std::int64_t> shape,
                         Cut cut = Cut::Replicated, int units = 1);
  // Not a parameter: id maps, scales.
  TensorGroup& add_table(const std::string& name, tensor::Dtype dtype, std::vector<std::int64_t> shape,
                         Cut cut = Cut::Replicated, int units = 1);
  // A weight [out, in] in its storage format, with its scales; `experts` of them where "{}" stands in the
  // name.
  void linear(const std::string& name, std::int64_t out, std::int64_t in, Cut cut, int units,
              const LinearFormat& format, const LinearNames& names = {}, std::int64_t experts = 1);

  std::vector<TensorGroup> take() && { return std::move(groups_); }

 private:
  tensor::Dtype dtype_;
  Place place_ = Place::FirstStage;
  std::optional<int> layer_;
  bool drafter_ = false;
  std::string prefix_;
  std::vector<TensorGroup> groups_;
};

}  // namespace outrider::checkpoint
