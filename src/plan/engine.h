// Whose rules judge a plan: ours, or those of the engine that a pasted command line is for.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace outrider::plan {

enum class Engine { Outrider, Vllm, Trtllm };

struct EngineRow {
  Engine engine;
  std::string_view name;   // as --as takes it
  std::string_view title;  // as sentences name it
};
inline constexpr std::array kEngines = {
    EngineRow{Engine::Outrider, "outrider", "Outrider"},
    EngineRow{Engine::Vllm, "vllm", "vLLM"},
    EngineRow{Engine::Trtllm, "trtllm", "TensorRT-LLM"},
};

constexpr const EngineRow& row_of(Engine engine) { return kEngines[static_cast<std::size_t>(engine)]; }
constexpr std::string_view name_of(Engine engine) { return row_of(engine).name; }
constexpr std::optional<Engine> parse_engine(std::string_view name) {
  for (const EngineRow& row : kEngines) {
    if (row.name == name) return row.engine;
  }
  return std::nullopt;
}

// A set of engines, for rules and flags that only some have.
struct Engines {
  unsigned bits;
  constexpr bool has(Engine engine) const { return (bits >> static_cast<unsigned>(engine) & 1U) != 0; }
};
inline constexpr Engines kAllEngines{7}, kOutriderOnly{1}, kVllmOnly{2}, kTrtllmOnly{4}, kOthers{6},
    kNotTrtllm{3}, kNotVllm{5};

// What a plan is made for. A command that runs it in this process asks for less than can be planned: what
// runs so far, and what it has a meaning for.
enum class Use { Plan, Generate, Bench, Quantize };
struct Uses {
  unsigned bits;
  constexpr bool has(Use use) const { return (bits >> static_cast<unsigned>(use) & 1U) != 0; }
};
inline constexpr Uses kPlanOnly{1}, kGenerating{3}, kMeasuring{5}, kRunning{7}, kEveryUse{15},
    kAllButPlan{14}, kAllButGenerate{13};
constexpr std::string_view name_of(Use use) {
  constexpr std::array<std::string_view, 4> kNames = {"plan", "generate", "bench", "quantize"};
  return kNames[static_cast<std::size_t>(use)];
}

}  // namespace outrider::plan
