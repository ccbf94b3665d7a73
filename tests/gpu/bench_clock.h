// Timing of what runs on the device, and the table and JSON of what came out.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <string>

#include "kernels/cuda/cuda_ops.h"

namespace paceline::gpu {

// Ends the program where there is an error.
void must(cudaError_t error, const char* what);
void must(const Status& status);

// Whose work is timed: what is enqueued has to be started.
void time_work_of(kernels::cuda::CudaOps& ops);
// Median milliseconds of one call, from device events.
double time_ms(cudaStream_t stream, int repeats, const std::function<void()>& work);
// The same work as a graph, launched once per repetition.
double time_graph_ms(cudaStream_t stream, int repeats, const std::function<void()>& work);

// A line of the table on stdout, kept for the JSON.
void report(const std::string& model, const std::string& what, double ms, double share, const char* unit, double rate);
// All lines so far as JSON, the last thing that is reported.
void write_json(const std::string& file);

}  // namespace paceline::gpu
