#include "cli/cost_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/json_write.h"
#include "base/mapped_file.h"

namespace outrider::cli {
namespace {

constexpr double kMeasureSeconds = 1.5;
constexpr std::size_t kFileBytesMax = 1 << 20;

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 1);
  }
  return "";
}

// Everything that a step's time depends on; compared in full, the file's name is only its hash.
std::string key_of(const engine::Engine& engine) {
  const engine::EnginePlan& plan = engine.plan();
  const auto number = [](auto value) { return " " + std::to_string(value); };
  std::string key = "2" + cpu_name() + number(plan.thread_count) + " " +
                    std::string(kernels::name_of(plan.target)) + number(static_cast<int>(plan.arithmetic)) +
                    " " + plan.shape.family + number(plan.shape.layers.size()) +
                    number(plan.shape.hidden_width) + number(plan.shape.vocabulary) +
                    number(engine.model().weight_bytes()) + number(engine.model().weight_bytes_per_row());
  if (engine.drafter() != nullptr) {
    key += number(engine.drafter()->drafts_max()) + number(engine.drafter()->weight_bytes());
    if (const auto* block = std::get_if<draft::BlockPlan>(&plan.draft->drafter))
      key += number(block->block_slots);
  }
  return key;
}

std::optional<std::filesystem::path> cache_path(const std::string& key) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  std::filesystem::path folder;
  if (cache != nullptr && *cache == '/') {
    folder = cache;
  } else if (home != nullptr && *home == '/') {
    folder = std::filesystem::path(home) / ".cache";
  } else {
    return std::nullopt;
  }
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return folder / "outrider" / ("cost-" + std::to_string(hash) + ".json");
}

base::Result<schedule::StepCosts> read_costs(const std::string& path, const std::string* key) {
  OUTRIDER_TRY(const std::string text, base::read_text_file(path, kFileBytesMax));
  OUTRIDER_TRY(const base::Json json, base::parse_json(text, path));
  if (key == nullptr) return schedule::parse_step_costs(json, path);
  const base::Json* kept = json.find("key");
  const base::Json* costs = json.find("costs");
  if (kept == nullptr || kept->string() == nullptr || *kept->string() != *key || costs == nullptr) {
    return base::refuse({.field = path, .found = "", .rule = "was kept for something else", .remedy = ""});
  }
  return schedule::parse_step_costs(*costs, path);
}

// Written beside and renamed, so that nobody reads half a file. Without a place to write, the costs are
// measured again next time.
void keep_costs(const std::filesystem::path& path, const std::string& key, const schedule::StepCosts& costs) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  base::JsonWriter json;
  json.begin_object().key("key").value(std::string_view(key)).key("costs").value(to_json(costs)).end_object();
  const std::filesystem::path beside = path.string() + ".part";
  std::ofstream out(beside);
  out << json.text() << "\n";
  out.close();
  if (out) std::filesystem::rename(beside, path, error);
}

}  // namespace

base::Result<schedule::StepCosts> load_costs(engine::Engine& engine, const std::optional<std::string>& file) {
  if (file) return read_costs(*file, nullptr);
  const std::string key = key_of(engine);
  const auto path = cache_path(key);
  if (path) {
    auto kept = read_costs(path->string(), &key);
    if (kept.ok()) return kept;
  }
  schedule::StepCosts costs = engine.measure_costs(kMeasureSeconds);
  if (path) keep_costs(*path, key, costs);
  return costs;
}

}  // namespace outrider::cli
