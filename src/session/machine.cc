#include "session/machine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <system_error>

#include "kernels/cpu_ops.h"
#include "kernels/cpu_table.h"
#include "kernels/cuda_device.h"

namespace paceline {

// x86 has a name there; Arm has numbers.
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line, found;
  while (std::getline(file, line) && !line.empty()) {
    if (line.starts_with("model name") || line.starts_with("CPU implementer") || line.starts_with("CPU part")) {
      found += line.substr(line.find(':') + 1);
    }
  }
  return found.empty() ? found : found.substr(found.find_first_not_of(' '));
}

Result<std::unique_ptr<Machine>> Machine::make(const MachineOptions& options) {
  TRY_ASSIGN(const kernels::CpuTable* table, kernels::default_cpu_table());
  std::unique_ptr<Machine> machine;
  try {
    machine.reset(new Machine(options.threads, options.pinned));
  } catch (const std::system_error& error) {
    return Error{error.what(), kNoThreads};
  }
  if (options.pinned) pin_this_thread(0);
  if (options.device != Device::cpu) {
    const auto device = kernels::find_cuda_device();
    if (!device.ok() && options.device == Device::cuda) return Error{device.error().message, kBadSetting};
    if (device.ok()) {
      auto ops = kernels::make_cuda_ops();
      if (!ops.ok()) return Error{ops.error().message, kDeviceFailed};
      machine->ops_ = std::move(*ops);
      machine->kernels_name_ = "cuda on " + device->name;
      return machine;
    }
  }
  machine->ops_ = std::make_unique<kernels::CpuOps>(*table, machine->pool_);
  machine->kernels_name_ = table->name;
  return machine;
}

std::string Machine::identity() const {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return fmt::format("{} cpu {} {} {} threads", host.data(), processor_name(), kernels_name_, pool_.threads());
}

}  // namespace paceline
