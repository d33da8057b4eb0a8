// The table of model families: one row and one file under families/ each. A row knows how to read its config
// and how to list its tensors; rows of families that the engine runs say so.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "checkpoint/config_reader.h"
#include "checkpoint/model_shape.h"
#include "checkpoint/tensor_list.h"

namespace outrider::checkpoint {

struct Family {
  std::string_view name;
  std::span<const std::string_view> model_types;  // outer or nested; the first is the published one
  std::span<const std::string_view> architectures;
  bool runs;  // the engine has this family
  // `text`: the language model's settings; `outer`: the whole config (the same where nothing is nested).
  ModelShape (*read)(const ConfigReader& text, const ConfigReader& outer);
  void (*list_tensors)(const ModelShape& shape, TensorLister& lister);
};

std::span<const Family> families();
const Family* find_family(std::string_view name);  // by name, or null

// The family that "architectures" and "model_type" name, which must agree; faults are reported, null then.
// `runnable_only`: others count as unknown.
const Family* identify_family(const ConfigReader& outer, bool runnable_only);
// The language model's settings: "text_config" where there is one.
ConfigReader text_settings(const ConfigReader& outer);

// The tensors of a shape made by a row of the table.
std::vector<TensorGroup> list_tensors(const ModelShape& shape);

}  // namespace outrider::checkpoint
