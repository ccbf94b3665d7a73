#pragma once

#include "kernels/cpu_products.h"

namespace paceline::kernels::avx512 {

// Products with pages of bf16 and of codes by tiles of AMX; 0 bytes where heads do not fill these.
size_t page_tiles_bytes(const HeadShape& shape);
std::unique_ptr<PageProducts> make_page_tiles(const HeadShape& shape, void* memory);

// Those of codes.
size_t code_tiles_bytes(const HeadShape& shape);
std::unique_ptr<PageProducts> make_code_tiles(const HeadShape& shape, void* memory);

}  // namespace paceline::kernels::avx512
