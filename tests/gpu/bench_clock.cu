#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench_clock.h"

namespace paceline::gpu {
namespace {

std::string json = "[\n";
bool first_line = true;
kernels::cuda::CudaOps* bench_ops = nullptr;

}  // namespace

void must(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorString(error));
  std::exit(2);
}

void must(const Status& status) {
  if (status.ok()) return;
  std::printf("FAULT: %s\n", status.error().message.c_str());
  std::exit(2);
}

void time_work_of(kernels::cuda::CudaOps& ops) { bench_ops = &ops; }

double time_ms(cudaStream_t stream, int repeats, const std::function<void()>& work) {
  const auto f = [&] {
    work();
    bench_ops->start();
  };
  f();
  cudaEvent_t begin, end;
  must(cudaEventCreate(&begin), "event");
  must(cudaEventCreate(&end), "event");
  std::vector<float> all;
  for (int i = 0; i < repeats; ++i) {
    must(cudaEventRecord(begin, stream), "record");
    f();
    must(cudaEventRecord(end, stream), "record");
    must(cudaEventSynchronize(end), "running");
    float ms = 0;
    must(cudaEventElapsedTime(&ms, begin, end), "elapsed");
    all.push_back(ms);
  }
  (void)cudaEventDestroy(begin);
  (void)cudaEventDestroy(end);
  std::sort(all.begin(), all.end());
  return static_cast<double>(all[all.size() / 2]);
}

double time_graph_ms(cudaStream_t stream, int repeats, const std::function<void()>& work) {
  const auto f = [&] {
    work();
    bench_ops->start();
  };
  f();
  must(cudaStreamSynchronize(stream), "warming up");
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  f();
  must(cudaStreamEndCapture(stream, &graph), "capture");
  must(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
  const double ms = time_ms(stream, repeats, [&] { must(cudaGraphLaunch(exec, stream), "launch"); });
  (void)cudaGraphExecDestroy(exec);
  (void)cudaGraphDestroy(graph);
  return ms;
}

void report(const std::string& model, const std::string& what, double ms, double share, const char* unit, double rate) {
  std::printf("%-8s %-34s %9.3f ms  %8.2f %-7s %6.1f %%\n", model.c_str(), what.c_str(), ms, rate, unit, share * 100);
  std::fflush(stdout);
  char line[512];
  std::snprintf(line, sizeof line,
                R"(%s  {"model": "%s", "what": "%s", "ms": %.5f, "rate": %.3f, "unit": "%s", "share": %.4f})",
                first_line ? "" : ",\n", model.c_str(), what.c_str(), ms, rate, unit, share);
  first_line = false;
  json += line;
}

void write_json(const std::string& file) {
  json += "\n]\n";
  if (FILE* out = std::fopen(file.c_str(), "w")) {
    std::fputs(json.c_str(), out);
    std::fclose(out);
  }
}

}  // namespace paceline::gpu
