#include "cli/machine.h"

#include "kernels/cpu_ops.h"
#include "kernels/cpu_table.h"

namespace paceline {

Result<std::unique_ptr<Machine>> Machine::make(int threads) {
  TRY_ASSIGN(const kernels::CpuTable* table, kernels::default_cpu_table());
  std::unique_ptr<Machine> machine(new Machine(threads));
  machine->ops_ = std::make_unique<kernels::CpuOps>(*table, machine->pool_);
  machine->kernels_name_ = table->name;
  return machine;
}

}  // namespace paceline
