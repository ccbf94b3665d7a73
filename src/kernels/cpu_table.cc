#include "kernels/cpu_table.h"

#include <cstdlib>
#include <string>

#if defined(__aarch64__)
#include <sys/auxv.h>
#elif defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "kernels/portable/table.h"
#if defined(PACELINE_HAS_NEON)
#include "kernels/neon/table.h"
#endif
#if defined(PACELINE_HAS_AVX2)
#include "kernels/avx2/table.h"
#include "kernels/avx512/table.h"
#endif

namespace paceline::kernels {
namespace {

#if defined(PACELINE_HAS_NEON)
// Bits of the kernel's hwcap words (asm/hwcap.h).
constexpr unsigned long kHwcapAsimdDp = 1UL << 20;
constexpr unsigned long kHwcap2I8mm = 1UL << 13;
constexpr unsigned long kHwcap2Bf16 = 1UL << 14;

void add_processor_tables(std::vector<const CpuTable*>& tables) {
  const bool dotprod = (getauxval(AT_HWCAP) & kHwcapAsimdDp) != 0;
  const unsigned long more = getauxval(AT_HWCAP2);
  if (dotprod && (more & kHwcap2I8mm) != 0 && (more & kHwcap2Bf16) != 0) tables.push_back(&neon::table());
  if (dotprod) tables.push_back(&neon::dotprod_table());
}
#elif defined(PACELINE_HAS_AVX2)
// (Not every compiler's __builtin_cpu_supports knows it.)
bool has_f16c() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

// Bits of leaf 7.
constexpr unsigned kEdxAmxBf16 = 1U << 22;
constexpr unsigned kEdxAmxTile = 1U << 24;
constexpr unsigned kEdxAmxInt8 = 1U << 25;
constexpr unsigned kEaxAvxVnni = 1U << 4;  // of its part 1
// arch_prctl's request to use a part of the processor's state, and the tiles' number among these parts
// (asm/prctl.h).
constexpr long kRequestPermission = 0x1023;
constexpr long kTileData = 18;

// Tiles are 8 KiB more that belong to a thread: the kernel wants to be asked, once for a process.
bool has_tiles() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  constexpr unsigned kAll = kEdxAmxBf16 | kEdxAmxTile | kEdxAmxInt8;
  if ((edx & kAll) != kAll) return false;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

bool has_avx_vnni() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax & kEaxAvxVnni) != 0;
}

void add_processor_tables(std::vector<const CpuTable*>& tables) {
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512vnni");
  const bool bf16 = avx512 && __builtin_cpu_supports("avx512bf16");
  if (bf16 && has_tiles()) tables.push_back(&avx512::amx_table());
  if (bf16) tables.push_back(&avx512::table());
  if (avx512) tables.push_back(&avx512::vnni_table());
  if (avx2 && has_avx_vnni()) tables.push_back(&avx2::vnni_table());
  if (avx2) tables.push_back(&avx2::table());
}
#else
void add_processor_tables(std::vector<const CpuTable*>&) {}
#endif

}  // namespace

const std::vector<const CpuTable*>& cpu_tables() {
  static const std::vector<const CpuTable*> tables = [] {
    std::vector<const CpuTable*> found;
    add_processor_tables(found);
    found.push_back(&portable::table());
    return found;
  }();
  return tables;
}

Result<const CpuTable*> find_cpu_table(std::string_view name) {
  const auto& tables = cpu_tables();
  if (name.empty()) return tables.front();
  std::string known;
  for (const CpuTable* table : tables) {
    if (name == table->name) return table;
    known += (known.empty() ? "" : ", ") + std::string(table->name);
  }
  return Error{"instruction set '" + std::string(name) + "' is not one this processor can run: expected one of " +
               known};
}

Result<const CpuTable*> default_cpu_table() {
  const char* asked = std::getenv("PACELINE_ISA");
  return find_cpu_table(asked == nullptr ? "" : asked);
}

}  // namespace paceline::kernels
