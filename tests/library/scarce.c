/* Memory that is refused at one place after the other, on any thread: every call ends, and says so.
 *
 *     scarce STEP OPEN_STEP FILE...
 *
 * asks for a text with the first, the STEPth, ... allocation failing, until none is left to fail, opens a model
 * with every OPEN_STEPth failing, and submits pictures, and clips that are called x.mp4, with some hundreds of those
 * failing that this makes. WebP and VP9 are not for it: libwebp 1.2.4 and FFmpeg 5.1 themselves end the process where
 * some small pieces are refused. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <paceline/paceline.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_long made = 0;
static atomic_long fails_at = -1;

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static int refused(void) {
  const long at = atomic_load(&fails_at);
  if (at < 0 || atomic_fetch_add(&made, 1) != at) return 0;
  errno = ENOMEM;
  return 1;
}

void* malloc(size_t bytes) { return refused() ? NULL : __libc_malloc(bytes); }
void* calloc(size_t count, size_t bytes) { return refused() ? NULL : __libc_calloc(count, bytes); }
void* realloc(void* old, size_t bytes) { return refused() ? NULL : __libc_realloc(old, bytes); }
void* aligned_alloc(size_t alignment, size_t bytes) { return refused() ? NULL : __libc_memalign(alignment, bytes); }
int posix_memalign(void** made_at, size_t alignment, size_t bytes) {
  *made_at = refused() ? NULL : __libc_memalign(alignment, bytes);
  return *made_at != NULL ? 0 : ENOMEM;
}

static paceline_result try_to_open(paceline_model** model) {
  paceline_open_options options;
  paceline_open_options_init(&options, sizeof options);
  options.kv_bytes = (uint64_t)64 << 20;
  options.threads = 1;
  char* problem = NULL;
  const paceline_result result = paceline_open(&options, model, &problem);
  if (result != PACELINE_OK && (problem == NULL || result != PACELINE_FAILED)) {
    fprintf(stderr, "scarce: opening said %s: %s\n", paceline_result_name(result),
            problem != NULL ? problem : "nothing");
    exit(1);
  }
  paceline_free(problem);
  return result;
}

static paceline_model* open_one(void) {
  paceline_model* model = NULL;
  if (try_to_open(&model) == PACELINE_OK) return model;
  fprintf(stderr, "scarce: there is no memory for a model\n");
  exit(1);
}

/* What it says is copied: it may be given back before it is looked at. */
static paceline_result ask(paceline_model* model, char* said, size_t room) {
  const paceline_message message = {"user", "Hello"};
  const char* const stops[] = {"zzz"};
  paceline_chat chat;
  paceline_chat_init(&chat, sizeof chat);
  chat.messages = &message;
  chat.message_count = 1;
  paceline_request request;
  paceline_request_init(&request, sizeof request);
  request.chat = &chat;
  request.max_tokens = 2;
  request.stop_strings = stops;
  request.stop_string_count = 1;
  request.response_format_json = "{\"type\":\"json_object\"}";
  char* problem = NULL;
  const paceline_result result = paceline_generate(model, &request, NULL, &problem);
  snprintf(said, room, "%s", problem != NULL ? problem : "");
  if (result != PACELINE_OK && problem == NULL) {
    fprintf(stderr, "scarce: %s without a word\n", paceline_result_name(result));
    exit(1);
  }
  paceline_free(problem);
  return result;
}

/* Submits a text with the medium and lets it be; refuses only meanwhile. */
static paceline_result show(paceline_model* model, const char* file, long refuses_at, char* said, size_t room) {
  paceline_medium medium;
  paceline_medium_init(&medium, sizeof medium);
  medium.path = file;
  medium.is_clip = strstr(file, ".mp4") != NULL;
  paceline_request request;
  paceline_request_init(&request, sizeof request);
  request.prompt = "This is";
  request.media = &medium;
  request.media_count = 1;
  paceline_generation* generation = NULL;
  char* problem = NULL;
  atomic_store(&made, 0);
  atomic_store(&fails_at, refuses_at);
  const paceline_result result = paceline_submit(model, &request, &generation, &problem);
  atomic_store(&fails_at, -1);
  snprintf(said, room, "%s", problem != NULL ? problem : "");
  if (generation != NULL) paceline_cancel(generation);
  paceline_release(generation);
  paceline_free(problem);
  return result;
}

/* What cannot be read for want of memory is said to be that, whatever the decoder takes it for. */
static void show_with_each_refused(const char* file) {
  char said[512];
  paceline_model* model = open_one();
  if (show(model, file, LONG_MAX, said, sizeof said) != PACELINE_OK) {
    fprintf(stderr, "scarce: %s: %s\n", file, said);
    if (strstr(said, "PACELINE_FFMPEG") == NULL) exit(1);
    paceline_close(model); /* a build without clips */
    return;
  }
  const long step = 1 + atomic_load(&made) / 250;
  long at = 0, tried = 0, failed = 0;
  for (;; at += step, ++tried) {
    alarm(60);
    const paceline_result result = show(model, file, at, said, sizeof said);
    if (atomic_load(&made) <= at) break;
    if (result != PACELINE_OK && (result != PACELINE_FAILED || strstr(said, "memory") == NULL)) {
      fprintf(stderr, "scarce: %s: allocation %ld failed, and it says %s: %s\n", file, at, paceline_result_name(result),
              said);
      exit(1);
    }
    failed += result != PACELINE_OK;
    if (show(model, file, -1, said, sizeof said) == PACELINE_OK) continue;
    paceline_close(model);
    model = open_one();
  }
  alarm(0);
  paceline_close(model);
  fprintf(stderr, "scarce: %s: %ld of %ld failed\n", file, failed, tried);
  if (failed < 10) exit(1);
}

int main(int count, char** words) {
  const long step = count > 1 ? atol(words[1]) : 1;
  char said[512];
  paceline_model* model = open_one();
  ask(model, said, sizeof said);
  long at = 0, failed = 0, opened = 0;
  for (;; at += step) {
    alarm(60); /* whoever hangs is ended */
    atomic_store(&made, 0);
    atomic_store(&fails_at, at);
    const paceline_result result = ask(model, said, sizeof said);
    atomic_store(&fails_at, -1);
    if (atomic_load(&made) <= at) break;
    if (result != PACELINE_OK && result != PACELINE_FAILED) {
      fprintf(stderr, "scarce: allocation %ld failed, and it says %s: %s\n", at, paceline_result_name(result), said);
      return 1;
    }
    failed += result != PACELINE_OK;
    /* One that takes no more is closed, and another one opened. */
    if (ask(model, said, sizeof said) == PACELINE_OK) continue;
    paceline_close(model);
    model = open_one();
    ++opened;
  }
  paceline_close(model);
  const long open_step = count > 2 ? atol(words[2]) : 97;
  long openings = 0;
  for (at = 0;; at += open_step, ++openings) {
    alarm(60);
    model = NULL;
    atomic_store(&made, 0);
    atomic_store(&fails_at, at);
    try_to_open(&model);
    atomic_store(&fails_at, -1);
    const long all = atomic_load(&made);
    paceline_close(model);
    if (all <= at) break;
  }
  alarm(0);
  for (int i = 3; i < count; ++i) show_with_each_refused(words[i]);
  if (failed < 10) return fprintf(stderr, "scarce: only %ld requests failed\n", failed), 1;
  fprintf(stderr, "scarce: %ld requests failed, %ld models ended; %ld openings\n", failed, opened, openings);
  return 0;
}
