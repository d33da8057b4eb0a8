#include "plan/eplb_yaml.h"

#include <yaml-cpp/yaml.h>

#include <set>

#include "base/flags.h"
#include "base/strings.h"
#include "plan/ask_values.h"

namespace outrider::plan {
namespace {

constexpr std::size_t kEntriesMax = std::size_t{1} << 24;  // aliases let a short text name a long table

class YamlReader {
 public:
  explicit YamlReader(std::vector<Problem>& problems) : problems_(problems) {}

  EplbFile read(const YAML::Node& root) {
    EplbFile file;
    if (!root.IsMap()) {
      report("eplb", "", "the balancing file must be a map of settings", "write num_slots: N");
      return file;
    }
    std::set<std::string> seen;
    for (const auto& entry : root) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
      const std::string field = "eplb." + base::printable(key);
      if (!seen.insert(key).second) {
        report(field, shown(entry.second), "key " + base::printable(key) + " is given twice", "give it once");
      } else if (key == "num_slots") {
        file.num_slots = read_integer(entry.second, field, 1);
      } else if (key == "layer_updates_per_iter") {
        file.layer_updates_per_iter = read_integer(entry.second, field, std::nullopt);
      } else if (key == "initial_global_assignments") {
        read_assignments(entry.second, file);
      } else {
        const std::string near =
            nearest_of(key, {"num_slots", "layer_updates_per_iter", "initial_global_assignments"});
        report(field, shown(entry.second), "key " + base::printable(key) + " is not known",
               near.empty() ? "leave it out" : "did you mean " + near + "?");
      }
    }
    return file;
  }

 private:
  void report(std::string field, std::string value, std::string message, std::string remedy) {
    problems_.push_back({.rule = "YAML",
                         .field = std::move(field),
                         .value = std::move(value),
                         .message = "eplb file: " + std::move(message),
                         .remedy = std::move(remedy),
                         .reference = ""});
  }
  static std::string shown(const YAML::Node& node) {
    if (node.IsScalar()) return base::printable(node.Scalar(), 60);
    return node.IsNull() ? "null" : node.IsMap() ? "a map" : "a list";
  }

  std::optional<std::int64_t> read_integer(const YAML::Node& node, const std::string& field,
                                           std::optional<std::int64_t> least) {
    if (node.IsNull()) return std::nullopt;
    const auto number = node.IsScalar() ? base::parse_integer(node.Scalar()) : std::nullopt;
    if (!number || (least && *number < *least)) {
      report(field, shown(node),
             field + " must be an integer" + (least ? " of at least " + std::to_string(*least) : ""),
             "give a whole number, or leave it out");
      return std::nullopt;
    }
    return number;
  }

  void read_assignments(const YAML::Node& node, EplbFile& file) {
    if (node.IsNull()) return;
    if (!node.IsMap()) {
      report("eplb.initial_global_assignments", shown(node),
             "initial_global_assignments must be a map from layer to a list", "write 3: [0, 1, 2]");
      return;
    }
    file.assignments.emplace();
    std::set<std::int64_t> seen;
    std::size_t entries = 0;
    for (const auto& entry : node) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
      const std::string field = "eplb.initial_global_assignments." + base::printable(key);
      const auto layer = base::parse_integer(key);
      if (!layer) {
        report(field, base::printable(key), "layer " + base::printable(key) + " is no integer",
               "keys are numbers of layers");
      } else if (!seen.insert(*layer).second) {
        report(field, "", "layer " + key + " is given twice", "give it once");
      } else if (!entry.second.IsSequence()) {
        report(field, shown(entry.second), "layer " + key + " must have a list of experts, one a slot",
               "write " + key + ": [0, 1, 2]");
      } else if ((entries += entry.second.size()) > kEntriesMax) {
        report(field, "", "more than " + std::to_string(kEntriesMax) + " entries in all are not read",
               "give fewer layers or slots");
        return;
      } else {
        file.assignments->emplace_back(*layer, read_row(entry.second, field));
      }
    }
  }

  std::vector<std::int64_t> read_row(const YAML::Node& node, const std::string& field) {
    std::vector<std::int64_t> row;
    row.reserve(node.size());
    bool reported = false;
    for (const auto& item : node) {
      const auto expert = item.IsScalar() ? base::parse_integer(item.Scalar()) : std::nullopt;
      if (!expert && !reported) {
        report(field, shown(item), field + " has an entry that is no integer",
               "entries are numbers of experts");
        reported = true;
      }
      row.push_back(expert.value_or(-1));
    }
    return row;
  }

  std::vector<Problem>& problems_;
};

}  // namespace

EplbFile parse_eplb_yaml(const std::string& text, std::vector<Problem>& problems) {
  const auto unreadable = [&](const std::string& why) {
    problems.push_back({.rule = "YAML",
                        .field = "eplb",
                        .value = "",
                        .message = "eplb file: cannot be read: " + base::printable(why),
                        .remedy =
                            "write it as TensorRT-LLM's balancing file: num_slots, layer_updates_per_iter, "
                            "initial_global_assignments",
                        .reference = ""});
    EplbFile nothing;
    nothing.is_faulty = true;
    return nothing;
  };
  if (text.size() > kEplbFileBytesMax) return unreadable(std::to_string(text.size()) + " bytes are too many");
  try {  // yaml-cpp reports by throwing; nothing of it leaves this file
    const YAML::Node root = YAML::Load(text);
    const std::size_t before = problems.size();
    EplbFile file = YamlReader(problems).read(root);
    file.is_faulty = problems.size() > before;
    return file;
  } catch (const YAML::Exception& fault) {
    return unreadable(fault.what());
  }
}

}  // namespace outrider::plan
