#include "plan/process.h"

#include <algorithm>

namespace outrider::plan {
namespace {

constexpr std::int64_t kThreadsPerCore = 4, kThreadsMax = 512;

std::int64_t threads_max(const Machine& machine) {
  const std::int64_t cores = std::clamp<std::int64_t>(machine.cores.value_or(kThreadsMax), 1, kThreadsMax);
  return std::min(kThreadsMax, kThreadsPerCore * cores);
}

}  // namespace

std::vector<Problem> process_problems(const AskedTarget& asked, const Machine& machine) {
  std::vector<Problem> problems;
  const auto refuse = [&](std::string field, std::string value, std::string message, std::string remedy) {
    problems.push_back({.rule = "R3",
                        .field = std::move(field),
                        .value = std::move(value),
                        .message = std::move(message),
                        .remedy = std::move(remedy),
                        .reference = ""});
  };
  if (asked.num_threads && *asked.num_threads > threads_max(machine)) {
    const std::string threads = std::to_string(*asked.num_threads);
    refuse("target.num_threads", threads,
           "target: num_threads=" + threads + " is more than " + std::to_string(threads_max(machine)) +
               (machine.cores ? ", with " + std::to_string(*machine.cores) + " cores" : ""),
           machine.cores ? "use the cores, " + std::to_string(*machine.cores) : "use the machine's cores");
  }
  if (!asked.kernel_target || !machine.kernel_targets) return problems;
  const std::vector<std::string>& have = *machine.kernel_targets;
  if (std::find(have.begin(), have.end(), *asked.kernel_target) != have.end()) return problems;
  std::string all;
  for (const std::string& name : have) all += (all.empty() ? "" : ", ") + name;
  refuse("target.kernel_target", asked.kernel_target->substr(0, 120),
         "target: kernel_target=" + asked.kernel_target->substr(0, 120) +
             " is not one that this machine can run",
         "one of " + all);
  return problems;
}

std::optional<std::int64_t> derive_threads(const AskedTarget& asked, const Machine& machine) {
  return asked.num_threads ? asked.num_threads : machine.cores;
}

std::optional<std::string> derive_kernel_target(const AskedTarget& asked, const Machine& machine) {
  if (asked.kernel_target) return asked.kernel_target;
  if (!machine.kernel_targets || machine.kernel_targets->empty()) return std::nullopt;
  return machine.kernel_targets->back();
}

base::Result<ProcessSettings, PlanRefusal> plan_process(const Intent& intent, const Machine& machine) {
  std::vector<Problem> problems = process_problems(intent.target, machine);
  const std::int64_t threads = derive_threads(intent.target, machine).value_or(1);
  if (threads < 1) {
    problems.push_back({.rule = "A1",
                        .field = "target.num_threads",
                        .value = std::to_string(threads),
                        .message = "target: num_threads must be >= 1, got " + std::to_string(threads),
                        .remedy = "give 1 or more, or leave it out",
                        .reference = ""});
  }
  if (!problems.empty()) return PlanRefusal{std::move(problems)};
  return ProcessSettings{.num_threads = threads,
                         .kernel_target = derive_kernel_target(intent.target, machine).value_or("reference")};
}

}  // namespace outrider::plan
