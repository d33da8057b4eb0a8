#include "cli/machine.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

#include "kernels/target.h"

namespace outrider::cli {
namespace {

// A file with one number; "max" and what is not there are no limit.
std::optional<std::int64_t> number_in(const char* path) {
  std::ifstream file(path);
  std::int64_t number = 0;
  return file >> number && number > 0 ? std::optional(number) : std::nullopt;
}

std::optional<std::int64_t> available_memory() {
  std::optional<std::int64_t> bytes;
  std::ifstream info("/proc/meminfo");
  for (std::string name, unit; info >> name;) {
    std::int64_t kilobytes = 0;
    if (!(info >> kilobytes)) break;
    if (name == "MemAvailable:") bytes = kilobytes * 1024;
    std::getline(info, unit);
  }
  for (const char* limit : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    if (const auto most = number_in(limit)) bytes = std::min(bytes.value_or(*most), *most);
  }
  return bytes;
}

}  // namespace

plan::Machine this_machine() {
  plan::Machine machine{.device_memory_bytes = available_memory(),
                        .cores = std::max<std::int64_t>(1, std::thread::hardware_concurrency())};
  machine.kernel_targets.emplace();
  for (const kernels::Target target : kernels::available_targets())
    machine.kernel_targets->emplace_back(kernels::name_of(target));
  return machine;
}

}  // namespace outrider::cli
