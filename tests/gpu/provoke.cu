// A library to be loaded before the program (LD_PRELOAD): once the file $PACELINE_PROVOKE is there, the device is taken
// away from the program by a kernel that never ends ("hang" in the file) or that faults ("fault").
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

constexpr int kThreads = 1024, kBlocksEach = 2;  // as many threads as a multiprocessor takes: no place for anybody else

__global__ void __launch_bounds__(kThreads, kBlocksEach) hang(volatile int* never) {
  while (*never == 0) __nanosleep(1000);
}
__global__ void fault(int* nowhere) { *nowhere = 1; }

bool reads(const char* path, char* text, size_t size) {
  std::FILE* file = std::fopen(path, "r");
  if (file == nullptr) return false;
  const size_t count = std::fread(text, 1, size - 1, file);
  (void)std::fclose(file);
  text[count] = '\0';
  return count > 0;
}

void provoke(const char* path) {
  char text[16];
  while (!reads(path, text, sizeof(text))) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  cudaStream_t stream = nullptr;
  int* never = nullptr;
  int count = 0;
  (void)cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  (void)cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0);
  if (std::strncmp(text, "hang", 4) == 0) {
    (void)cudaHostAlloc(&never, sizeof(int), cudaHostAllocMapped);
    *never = 0;
    hang<<<count * kBlocksEach, kThreads, 0, stream>>>(never);
  } else {
    fault<<<1, 1, 0, stream>>>(nullptr);
  }
  std::fprintf(stderr, "provoked: %s (%s)\n", text, cudaGetErrorString(cudaGetLastError()));
}

struct Begin {
  Begin() {
    const char* path = std::getenv("PACELINE_PROVOKE");
    if (path != nullptr) std::thread(provoke, path).detach();
  }
} const begin;

}  // namespace
