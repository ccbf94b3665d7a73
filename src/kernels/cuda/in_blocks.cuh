// What is instantiated for weights that lie in GGUF's blocks in their file.
#pragma once

#include "kernels/cuda/quantised.cuh"

namespace paceline::kernels::cuda {

// f(a step) of the kind that the weight has, one of of_blocks_alone().
template <class F>
void with_block_step(const Weight& w, const F& f) {
  const bool bytes = w.format == Format::q8;
  if (w.scales == Scales::centred)
    bytes ? f(QuantisedStep<Format::q8, 32, Scales::centred>{}) : f(QuantisedStep<Format::q4, 32, Scales::centred>{});
  else if (w.scales == Scales::products)
    bytes ? f(QuantisedStep<Format::q8, 32, Scales::products>{}) : f(QuantisedStep<Format::q4, 32, Scales::products>{});
  else if (w.scales == Scales::signed_products)
    f(QuantisedStep<Format::q8, 16, Scales::signed_products>{});
  else
    bytes ? f(QuantisedStep<Format::q8, 16, Scales::f32>{}) : f(QuantisedStep<Format::q4, 16, Scales::f32>{});
}

}  // namespace paceline::kernels::cuda
