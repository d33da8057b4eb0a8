#include "plan/serve_yaml.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/flags.h"
#include "base/json_write.h"
#include "base/strings.h"

namespace outrider::plan {
namespace {

constexpr int kDepthMax = 32;
constexpr std::size_t kNodesMax = 1 << 16;  // aliases let a short text name a long tree

// Truth of a plain scalar in YAML 1.1, as vLLM's reader takes it.
std::optional<bool> truth_of(const YAML::Node& node) {
  if (!node.IsScalar() || node.Tag() == "!") return std::nullopt;  // "!": it stood in quotes
  std::string word = node.Scalar();
  for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  if (word == "true" || word == "yes" || word == "on") return true;
  if (word == "false" || word == "no" || word == "off") return false;
  return std::nullopt;
}

class ServeYaml {
 public:
  explicit ServeYaml(std::vector<Problem>& problems) : problems_(problems) {}

  std::vector<std::string> read(const YAML::Node& root) {
    if (!root.IsMap()) {
      report("target.config", "the config file must be a map from flags to values");
      return {};
    }
    std::set<std::string> seen;
    for (const auto& entry : root) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
      if (key.empty() || key.find_first_of(" =\n") != std::string::npos) {
        report("target.config", "key " + base::printable(key) + " is no flag");
      } else if (!seen.insert(key).second) {
        report("target.config." + base::printable(key), "key " + base::printable(key) + " is given twice");
      } else {
        add(key, entry.second);
      }
    }
    return std::move(words_);
  }

 private:
  void report(std::string field, std::string message) {
    problems_.push_back({.rule = "YAML",
                         .field = std::move(field),
                         .value = "",
                         .message = "config file: " + std::move(message),
                         .remedy = "write it as vLLM's config file: tensor-parallel-size: 8",
                         .reference = ""});
  }

  void add(const std::string& key, const YAML::Node& value) {
    if (const auto truth = truth_of(value)) {
      words_.push_back((*truth ? "--" : "--no-") + key);
    } else if (value.IsSequence()) {
      if (value.size() == 0) return;
      words_.push_back("--" + key);
      for (const auto& item : value) words_.push_back(item.IsScalar() ? item.Scalar() : json_text_of(item));
    } else if (value.IsMap()) {
      words_.insert(words_.end(), {"--" + key, json_text_of(value)});
    } else {
      words_.insert(words_.end(), {"--" + key, value.IsNull() ? "None" : value.Scalar()});
    }
  }

  std::string json_text_of(const YAML::Node& node) {
    base::JsonWriter writer;
    writer.value(json_of(node, 0));
    return writer.text();
  }

  Json json_of(const YAML::Node& node, int depth) {
    if (depth > kDepthMax || ++nodes_ > kNodesMax || node.IsNull()) return Json();
    if (node.IsSequence()) {
      Json::Array items;
      for (const auto& item : node) items.push_back(json_of(item, depth + 1));
      return Json(std::move(items));
    }
    if (node.IsMap()) {
      Json::Object members;
      for (const auto& entry : node) {
        members.emplace_back(entry.first.IsScalar() ? entry.first.Scalar() : "",
                             json_of(entry.second, depth + 1));
      }
      return Json(std::move(members));
    }
    if (const auto truth = truth_of(node)) return Json(*truth);
    const std::string& text = node.Scalar();
    if (node.Tag() == "!") return Json(text);
    if (const auto integer = base::parse_integer(text)) return Json(*integer);
    if (const auto number = base::parse_number(text)) return Json(*number);
    return Json(text);
  }

  std::vector<Problem>& problems_;
  std::vector<std::string> words_;
  std::size_t nodes_ = 0;
};

}  // namespace

std::vector<std::string> parse_serve_yaml(const std::string& text, std::vector<Problem>& problems) {
  std::string why = "too many bytes";
  if (text.size() <= kServeFileBytesMax) {
    try {  // yaml-cpp reports by throwing; nothing of it leaves this file
      return ServeYaml(problems).read(YAML::Load(text));
    } catch (const YAML::Exception& fault) {
      why = fault.what();
    }
  }
  problems.push_back({.rule = "YAML",
                      .field = "target.config",
                      .value = "",
                      .message = "config file: cannot be read: " + base::printable(why),
                      .remedy = "write it as vLLM's config file: tensor-parallel-size: 8",
                      .reference = ""});
  return {};
}

}  // namespace outrider::plan
