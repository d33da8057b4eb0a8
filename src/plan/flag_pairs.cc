#include "plan/flag_pairs.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "plan/flag_values.h"
#include "plan/rules.h"

namespace outrider::plan {
namespace {

class FlagPairs {
 public:
  FlagPairs(const base::FlagValues& values, const Intent& intent, std::vector<Problem>& problems)
      : values_(values), intent_(intent), problems_(problems) {}

  void check() {
    check_p3();
    check_p6();
    check_p19();
    check_p22();
    check_p24();
    check_x9();
    check_x14();
  }

 private:
  void refuse(std::string_view rule, const char* setting, std::string value, std::string message,
              std::string remedy) {
    problems_.push_back({.rule = std::string(rule),
                         .field = std::string("target.") + setting,
                         .value = std::move(value),
                         .message = "target: " + std::move(message),
                         .remedy = std::move(remedy),
                         .reference = std::string(rule == "P6" ? "" : find_rule(rule)->vllm)});
  }
  bool on(const char* flag) const { return values_.boolean(flag).value_or(false); }
  std::optional<std::int64_t> number(const char* flag) const {
    const std::string* typed = values_.text(flag);
    return typed == nullptr ? std::nullopt : parse_python_integer(*typed);
  }
  std::int64_t copies() const { return intent_.target.data_parallel_size.value_or(1); }
  std::int64_t nodes() const { return intent_.target.nnodes.value_or(1); }

  void check_p3() {
    if (!on("--enable-fault-tolerance")) return;
    // As many front ends as copies, unless another number is asked for or the balancing is outside.
    const bool outside =
        intent_.target.data_parallel_external_lb.value_or(false) || number("--data-parallel-rank");
    const std::int64_t servers = number("--api-server-count").value_or(outside ? 1 : copies());
    if (servers > 1) {
      refuse("P3", "enable_fault_tolerance", "true",
             "fault tolerance needs a single API server, got " + text(servers), "add --api-server-count 1");
    }
    if (!outside) {
      refuse("P3", "enable_fault_tolerance", "true", "fault tolerance needs load balancing outside",
             "add --data-parallel-external-lb and --data-parallel-rank");
    }
  }

  void check_p6() {
    const AskedTarget& target = intent_.target;
    const bool hybrid = target.data_parallel_hybrid_lb.value_or(false);
    const bool outside = target.data_parallel_external_lb.value_or(false);
    const bool ports = on("--data-parallel-multi-port-external-lb");
    if (int(hybrid) + int(outside) + int(ports) > 1) {
      refuse("P6", hybrid ? "data_parallel_hybrid_lb" : "data_parallel_external_lb", "true",
             "more than one way of load balancing over copies",
             "keep one of hybrid, external and multi-port");
    } else if (outside && copies() > 1 && !number("--data-parallel-rank") && nodes() == 1) {
      refuse("P6", "data_parallel_external_lb", "true", "load balancing outside needs this instance's rank",
             "add --data-parallel-rank");
    } else if (hybrid && !target.data_parallel_size_local && nodes() == 1 &&
               !values_.has("--data-parallel-start-rank")) {
      refuse("P6", "data_parallel_hybrid_lb", "true",
             "hybrid load balancing needs the number of copies on this node",
             "add --data-parallel-size-local");
    }
  }

  void check_p19() {
    const auto rank = number("--data-parallel-rank");
    if (!rank || *rank < 0 || copies() < 1 || *rank < copies()) return;
    refuse("P19", "data_parallel_rank", text(*rank),
           "data_parallel_rank (" + text(*rank) + ") must be in the range [0, " + text(copies()) + ")",
           "ranks of copies count from 0");
  }

  void check_p22() {
    const std::string backend = intent_.target.distributed_executor_backend.value_or("mp");
    constexpr std::array kOverNodes = {"mp", "uni", "external_launcher", "auto"};
    if (nodes() > 1 && std::find(kOverNodes.begin(), kOverNodes.end(), backend) == kOverNodes.end()) {
      refuse("P22", "nnodes", text(nodes()),
             "nnodes > 1 can only be set when the executor backend is mp, uni or external_launcher, got " +
                 backend,
             "leave nnodes out: " + backend + " finds its nodes itself");
    }
    const auto place = number("--node-rank");
    if (place && *place > 0 && *place >= nodes()) {
      refuse("P22", "node_rank", text(*place),
             "node_rank must be between 0 and " + text(nodes() - 1) + ", got " + text(*place),
             "give each node its own number from 0");
    }
  }

  void check_p24() {
    if (!on("--ray-workers-use-nsight") || intent_.target.distributed_executor_backend == "ray") return;
    refuse("P24", "ray_workers_use_nsight", "true", "nsight profiling of workers needs Ray",
           "add --distributed-executor-backend ray");
  }

  bool drafts_by(std::initializer_list<std::string_view> methods) const {
    return intent_.draft && intent_.draft->method &&
           std::find(methods.begin(), methods.end(), *intent_.draft->method) != methods.end();
  }

  void check_x9() {
    if (!drafts_by({"dspark"}) || !intent_.draft->enable_adaptive_verification.value_or(false)) return;
    if (!on("--enable-lora")) return;
    refuse("X9", "enable_lora", "true", "adaptive verification does not go with LoRA", "drop one of them");
  }

  void check_x14() {
    if (!on("--kv-sharing-fast-prefill") || !drafts_by({"eagle", "eagle3", "mtp", "dflash", "dspark"}))
      return;
    refuse("X14", "kv_sharing_fast_prefill", "true",
           "fast prefill of shared caches gives no right logits of the prompt, which method " +
               *intent_.draft->method + " needs",
           "leave --kv-sharing-fast-prefill out");
  }

  const base::FlagValues& values_;
  const Intent& intent_;
  std::vector<Problem>& problems_;
};

}  // namespace

void check_flag_pairs(const base::FlagValues& values, const Intent& intent, std::vector<Problem>& problems) {
  FlagPairs(values, intent, problems).check();
}

}  // namespace outrider::plan
