/* paceline as a library: text and pictures in, text out, many requests at once through one model.
 *
 *     paceline_model* model = NULL;
 *     char* problem = NULL;
 *     if (paceline_open(NULL, &model, &problem) != PACELINE_OK) { fputs(problem, stderr); paceline_free(problem); }
 *
 * RESULTS    What can go wrong comes back as a number, 0 where all is well, and a message in `problem`: one line of
 *            UTF-8 that says what was expected and what was found, to be given to paceline_free(). `problem` may be
 *            NULL. Nothing that callers or files do ends the process, and no exception leaves the library. (A model's
 *            files are mapped: whoever cuts one short while it is open takes memory away, and the system ends the
 *            process. A caller's thread needs a stack of 256 KB. And libwebp and FFmpeg, which read WebP and clips, end
 *            the process themselves in a few places where the system refuses them a small piece of memory.) A model
 *            whose own thread finds no memory ends all that it has with PACELINE_FAILED and takes no more: close it,
 *            and open it anew.
 *
 * STRUCTS    Each begins with its size in bytes, and the caller fills it with the function paceline_..._init(). Later
 *            versions add fields at the end and nowhere else: a caller that was compiled with an older header, or that
 *            knows the first fields only, says so by a smaller size, and the rest has its default. A caller with a
 *            newer header than the library may leave the new fields as init() made them; if it sets one, that is an
 *            error. Structs without a size never change.
 *
 * MEMORY     What the library hands out as `char**` or `int32_t**` belongs to the caller: paceline_free(). Pointers
 *            inside structs that it hands out belong to the handle that they were asked of, and are valid as long as
 *            that is, unless said otherwise; those of an event are valid during the callback. What callers pass in is
 *            copied before the function returns.
 *
 * THREADS    Every function may be called by any thread at any time, also for one and the same handle, but closing or
 *            releasing a handle, after which nobody may use it. A model computes on threads of its own, one of which
 *            calls on_event: it computes nothing for anybody while it is in there, so return soon. Within on_event all
 *            functions may be called but those that wait (paceline_wait, paceline_generate, paceline_close), which
 *            return PACELINE_INVALID there, for this model and for others. The other callbacks are called by the thread
 *            that called the function. A callback returns, or throws where its caller writes C++; it ends no thread.
 *
 * TEXT       UTF-8, ended by a zero byte where no length is told. Text that comes out is cut between characters.
 */
#ifndef PACELINE_PACELINE_H
#define PACELINE_PACELINE_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define PACELINE_API
#else
#define PACELINE_API __attribute__((visibility("default")))
#endif

/* Counted up when something that exists changes its meaning or goes; adding does not change it. It is the number behind
 * libpaceline.so. */
#define PACELINE_ABI_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

/* ---- results ------------------------------------------------------------------------------------------------ */

typedef int32_t paceline_result;
enum {
  PACELINE_OK = 0,
  PACELINE_INVALID = 1,   /* what was asked for makes no sense; asking again will not help */
  PACELINE_NO_MODEL = 2,  /* the model, or its drafter, cannot be found or used */
  PACELINE_BUSY = 3,      /* too many requests wait; try again later */
  PACELINE_CLOSED = 4,    /* the model was closed meanwhile */
  PACELINE_CANCELLED = 5, /* by paceline_cancel or by a callback; what came before stands */
  PACELINE_DEADLINE = 6,  /* the request's time was over; what came before stands */
  PACELINE_FAILED = 7     /* the machine: no memory, no threads, a device's fault, a model whose numbers are none */
};

/* What a result is called: "ok", "invalid", ... */
PACELINE_API const char* paceline_result_name(paceline_result result);

/* The library's version, as "0.1.0", and PACELINE_ABI_VERSION of the library that is loaded. */
PACELINE_API const char* paceline_version(void);
PACELINE_API int32_t paceline_abi_version(void);

/* Gives back what the library handed out. NULL is fine. */
PACELINE_API void paceline_free(void* handed_out);

/* ---- a model ------------------------------------------------------------------------------------------------- */

typedef struct paceline_model paceline_model;

enum { PACELINE_DEVICE_AUTO = 0, PACELINE_DEVICE_CPU = 1, PACELINE_DEVICE_CUDA = 2 };
enum { PACELINE_PRECISION_BF16 = 0, PACELINE_PRECISION_F32 = 1 };
enum { PACELINE_KV_AUTO = 0, PACELINE_KV_BF16 = 1, PACELINE_KV_Q8 = 2 };
enum { PACELINE_VISION_NONE = 0, PACELINE_VISION_IF_POSSIBLE = 1, PACELINE_VISION_NEEDED = 2 };

typedef struct paceline_open_options {
  size_t size;
  const char* model; /* a folder in Hugging Face layout, a GGUF file, or what else -m takes; NULL: what
                        $PACELINE_MODEL says, or the model that was installed with the library */
  const char* draft; /* who guesses tokens ahead, which changes the time and never the text: "auto" (NULL), "ngram",
                        "none", or a drafter's folder or org/name */
  const char* draft_kind; /* what the drafter must be: "auto" (NULL), "mtp" or "dflash" */
  /* Loading, and then arranging: so much of so much. */
  void (*on_progress)(void* user, int64_t done, int64_t total);
  /* What was found and decided on the way, a line each. */
  void (*on_remark)(void* user, const char* remark);
  void* user; /* for both */
  int32_t device;
  int32_t precision;           /* arithmetic of unquantised matrices and of the KV cache */
  int32_t threads;             /* 0: one per core that may be used */
  int32_t vision;              /* whether pictures are taken */
  int32_t depth;               /* guesses per check; -1: by what is measured on the way */
  int32_t keep_prefixes;       /* 1: the beginnings of prompts are kept for requests that share them */
  uint64_t kv_bytes;           /* memory for keys and values; 0: half of what is free to this process, within bounds */
  uint64_t picture_bytes;      /* memory for what became of pictures */
  int32_t batch_rows;          /* tokens of one step, guesses included */
  int32_t chunk_rows;          /* tokens of prompts where nobody writes; 0: what suits the device */
  int32_t chunk_rows_beside;   /* likewise while others write: how long they are held up */
  int32_t max_running;         /* sequences computed at once */
  int32_t queue_length;        /* requests that may wait; more are PACELINE_BUSY */
  int32_t draft_up_to_running; /* no guesses while more sequences run; 0: no such cap */
  int32_t draft_up_to_context; /* no guesses for longer contexts; 0: no such cap */
  int32_t reserved;            /* not read */
  double latency_ms;           /* that a step may take while others write: as much of prompts as fits; 0:
                                  chunk_rows_beside, whatever that takes; -1: what suits the device */
  double draft_up_to_kv;  /* no guesses while running requests hold more of kv_bytes, 1 being all; 0: no such cap */
  uint64_t queue_bytes;   /* of requests that wait or run, beside keys and values; more are PACELINE_BUSY */
  int32_t kv;             /* PACELINE_KV_...: what keys and values are kept in; Q8: in half the memory; AUTO: as
                             precision says */
  int32_t kv_sliding;     /* the same of layers that see a window */
  int32_t reserve_tokens; /* behind its prompt, up to its max_tokens, that must have room when a request begins */
  int32_t lazy_drafter;   /* 1: a drafter's weights are arranged at its first use, not in paceline_open */
} paceline_open_options;

/* The defaults, in as many bytes as the caller's struct has. */
PACELINE_API void paceline_open_options_init(paceline_open_options* options, size_t size);

/* Loads a model and starts the threads that compute. options NULL: the defaults. Takes as long as reading the files. */
PACELINE_API paceline_result paceline_open(const paceline_open_options* options, paceline_model** model,
                                           char** problem);

/* Cancels what runs, waits for its end, and gives the model's memory back. What is known of requests that have ended
 * can still be asked until they are released. NULL is fine. */
PACELINE_API paceline_result paceline_close(paceline_model* model);

typedef struct paceline_facts {
  size_t size;
  const char* name;         /* as it was asked for, or its folder's name */
  const char* folder;       /* where it was found */
  const char* kernels;      /* what computes: "neon", "avx512", "cuda on ..." */
  const char* precision;    /* "bf16", "f32" */
  const char* drafter;      /* "none", "ngram", or its folder's name; several: with " + " between */
  const char* drafter_kind; /* "none", "ngram", "mtp", "dflash", or several */
  uint64_t kv_bytes;
  int32_t context; /* tokens, prompt included */
  int32_t vocab;   /* ids are below it */
  int32_t threads;
  int32_t has_chat; /* 0: it continues text, and takes no messages */
  int32_t takes_pictures;
  int32_t takes_clips;
  int32_t bos, eos; /* ids; -1: there is none */
  const char* kv;   /* what keys and values are kept in: "bf16", "q8", "f32"; "q8, sliding bf16" */
} paceline_facts;

/* Fills as many bytes as facts->size says. */
PACELINE_API paceline_result paceline_model_facts(const paceline_model* model, paceline_facts* facts, char** problem);

/* What the engine is at, at this moment. */
typedef struct paceline_load {
  size_t size;
  uint64_t kv_bytes, kv_used_bytes; /* that there are, and that running requests hold */
  int32_t running, waiting;
} paceline_load;
PACELINE_API paceline_result paceline_model_load(const paceline_model* model, paceline_load* load, char** problem);

/* ---- text and tokens ----------------------------------------------------------------------------------------- */

typedef struct paceline_message {
  const char* role;    /* "system", "user", "assistant" */
  const char* content; /* text */
} paceline_message;

typedef struct paceline_chat {
  size_t size;
  /* One of these two. As JSON: a list as in OpenAI's chat completions, with parts, tool calls and reasoning. A part
   * {"type": "image"} or {"type": "video"} stands for the next picture or clip of the request's media; an image_url or
   * video_url with a data: URI brings its own. */
  const char* messages_json;
  const paceline_message* messages;
  size_t message_count;
  const char* tools_json;     /* a list as in OpenAI's chat completions; NULL: none */
  const char* variables_json; /* what else the model's template is told, an object; NULL: nothing */
  int32_t thinking;           /* 1: the model may think first; 0: it shall not; -1: as its template does by itself */
  int32_t open_end;           /* 1: the last message is the model's own, to be gone on with */
} paceline_chat;
PACELINE_API void paceline_chat_init(paceline_chat* chat, size_t size);

/* A conversation as the model reads it. `text` is to be freed. */
PACELINE_API paceline_result paceline_render(const paceline_model* model, const paceline_chat* chat, char** text,
                                             char** problem);

/* text_bytes SIZE_MAX: up to the zero byte. add_special 1: with what the tokenizer puts in front (<bos>, mostly), which
 * rendered conversations have already. `ids` are to be freed. */
PACELINE_API paceline_result paceline_tokenize(const paceline_model* model, const char* text, size_t text_bytes,
                                               int32_t add_special, int32_t** ids, size_t* count, char** problem);

/* skip_special 1: without <bos> and the like. `text` ends with a zero byte, is to be freed, and has *text_bytes bytes
 * before it; text_bytes may be NULL. */
PACELINE_API paceline_result paceline_detokenize(const paceline_model* model, const int32_t* ids, size_t count,
                                                 int32_t skip_special, char** text, size_t* text_bytes, char** problem);

/* ---- a request ----------------------------------------------------------------------------------------------- */

typedef struct paceline_logit_bias {
  int32_t id;
  float bias; /* added to the token's logit */
} paceline_logit_bias;

/* A picture (JPEG, PNG, WebP, GIF, BMP) or a clip (what FFmpeg reads), as a file's bytes or by its path. */
typedef struct paceline_medium {
  size_t size; /* the same in all of a list */
  const void* bytes;
  size_t byte_count;
  const char* path; /* instead of the bytes */
  int32_t is_clip;
  int32_t frames; /* of a clip, at most; 0: what the model's files say */
} paceline_medium;
PACELINE_API void paceline_medium_init(paceline_medium* medium, size_t size);

typedef struct paceline_event paceline_event;
typedef struct paceline_generation paceline_generation;

typedef struct paceline_request {
  size_t size;

  /* What is asked: a conversation, or a text to be continued, or its tokens. One of the three. */
  const paceline_chat* chat;
  const char* prompt;
  size_t prompt_bytes; /* SIZE_MAX: up to the zero byte */
  const int32_t* prompt_ids;
  size_t prompt_id_count;

  /* Hears of everything, on the model's own thread; see THREADS. Anything but 0 ends the request there. May be NULL. */
  int32_t (*on_event)(void* user, const paceline_event* event);
  void* user;

  /* Where it ends. */
  int32_t max_tokens; /* 0: where the context does */
  int32_t context;    /* most tokens, prompt included; 0: as many as the model has */

  /* How tokens are chosen. Those that are -1 are as the model's files say. */
  float temperature;        /* 0: always the likeliest token */
  float top_p;              /* among the likeliest that together have this probability */
  int32_t top_k;            /* among so many of the likeliest; 0: all */
  float min_p;              /* those at least this likely relative to the likeliest; 0: all */
  float repetition_penalty; /* tokens of prompt and output become less likely; 1: no */
  float presence_penalty;   /* subtracted from each token that is in the output */
  float frequency_penalty;  /* subtracted for every time a token is in the output */
  int32_t has_seed;         /* 1: the same seed gives the same text; 0: another each time */
  uint64_t seed;            /* choice i has seed + i */
  const paceline_logit_bias* logit_bias;
  size_t logit_bias_count;

  const char* const* stop_strings; /* end the text before them */
  size_t stop_string_count;
  const int32_t* stop_ids; /* besides the model's own */
  size_t stop_id_count;
  int32_t ignore_eos; /* 1: the model's own end nothing */

  int32_t choices;      /* texts for the one prompt */
  int32_t top_logprobs; /* -1: no log-probabilities; n: each token's own and those of the n likeliest, up to 20 */
  int32_t max_depth;    /* guesses per check, at most; 0: none; -1: as the model was opened */

  /* What form the output must have, as in OpenAI's chat completions. For chats. */
  const char* response_format_json; /* {"type": "json_object"} or {"type": "json_schema", "json_schema": {...}} */
  const char* tool_choice;          /* NULL or "auto", "none", "required", or the name of one of the tools */
  int32_t one_call;                 /* 1: of tools, one call at most */

  int32_t picture_tokens;       /* that a picture may take: 70, 140, 280, 560 or 1120; 0: what the model's files say */
  const paceline_medium* media; /* in the order of their places; those without one stand before the last message */
  size_t media_count;

  int64_t deadline_ms; /* from now on until it must have ended; 0: no limit */
  const char* scope;   /* kept beginnings of prompts are shared with requests of the same scope; NULL: all without */
  int32_t fresh;       /* 1: starts from nothing that was kept */

  int32_t reserved; /* not read */
  int32_t depth;    /* always so many guesses per check, where max_depth allows them; -1: as the model was opened */
  int32_t thought_tokens; /* of a thought, at most, which then ends; 0: no limit. For chats */
} paceline_request;

/* The defaults: max_tokens 512, one choice, all else as the model's files say. */
PACELINE_API void paceline_request_init(paceline_request* request, size_t size);

/* ---- what comes out ------------------------------------------------------------------------------------------ */

typedef int32_t paceline_finish;
enum {
  PACELINE_FINISH_NONE = 0,       /* it goes on */
  PACELINE_FINISH_STOP = 1,       /* the model's end, a stop id or a stop string */
  PACELINE_FINISH_LENGTH = 2,     /* max_tokens, or the context's end */
  PACELINE_FINISH_TOOL_CALLS = 3, /* the model waits for what its calls return */
  PACELINE_FINISH_CANCELLED = 4,
  PACELINE_FINISH_DEADLINE = 5,
  PACELINE_FINISH_FAILED = 6
};
/* "stop", "length", "tool_calls", ... */
PACELINE_API const char* paceline_finish_name(paceline_finish finish);

typedef struct paceline_likely_token {
  const char* text; /* bytes of it, not always whole characters */
  size_t text_bytes;
  int32_t id;
  float logprob; /* as the model gave it, before temperature and filters */
} paceline_likely_token;

/* How a token came about: by itself, or as a guess that held, in a wrong guess's place, or behind guesses that all
 * held. */
enum { PACELINE_PLAIN = 0, PACELINE_ACCEPTED = 1, PACELINE_CORRECTED = 2, PACELINE_EXTRA = 3 };

typedef struct paceline_token {
  paceline_likely_token token;
  const paceline_likely_token* top; /* likeliest first */
  size_t top_count;
  int32_t origin;
  int32_t reserved;
} paceline_token;

typedef struct paceline_tool_call {
  const char* name;
  const char* arguments; /* a JSON object */
} paceline_tool_call;

enum {
  PACELINE_EVENT_PROMPT = 1,  /* some of the prompt has been read: prompt_done of prompt_tokens */
  PACELINE_EVENT_TEXT = 2,    /* a piece of the text */
  PACELINE_EVENT_THOUGHT = 3, /* a piece of what the model thinks, which is not part of the text */
  PACELINE_EVENT_CALL = 4,    /* a tool call, whole */
  PACELINE_EVENT_FINISH = 5,  /* a choice has ended */
  PACELINE_EVENT_END = 6      /* all have; the last event */
};

struct paceline_event {
  size_t size;
  int32_t kind;
  int32_t choice;
  const char* text; /* TEXT, THOUGHT: ends with a zero byte, and has text_bytes before it */
  size_t text_bytes;
  const paceline_token* tokens; /* TEXT, with log-probabilities: those that it was read from */
  size_t token_count;
  paceline_tool_call call;                           /* CALL */
  paceline_finish finish;                            /* FINISH */
  int32_t prompt_done, prompt_tokens, cached_tokens; /* PROMPT; cached: known from earlier requests */
  /* For paceline_cancel and, at the END, paceline_usage_of and paceline_choice_of. To be released by whoever was given
   * it by paceline_submit, which may not have returned yet; not in here before it has. */
  paceline_generation* generation;
};

typedef struct paceline_usage {
  size_t size;
  int64_t prompt_tokens;
  int64_t cached_tokens; /* of the prompt, known from earlier requests */
  int64_t completion_tokens;
  int64_t thought_tokens; /* of the completion */
  int64_t rounds;         /* checks of the model; without guesses, one per token */
  int64_t drafted;        /* guesses that were checked */
  int64_t accepted;       /* of them, those that held */
  double queued_ms;       /* until it was begun; of several choices, of the slowest, here and below */
  double prompt_ms;       /* from then on to the first token */
  double decode_ms;       /* from then on to the end */
} paceline_usage;

typedef struct paceline_choice {
  size_t size;
  const char* text;
  size_t text_bytes;
  const char* thoughts;
  size_t thought_bytes;
  const paceline_tool_call* calls;
  size_t call_count;
  const int32_t* ids; /* all tokens, those of thoughts and calls too, without the one that ended it */
  size_t id_count;
  const paceline_token* tokens; /* of the text, where log-probabilities were asked for */
  size_t token_count;
  paceline_finish finish;
} paceline_choice;

/* Hands a request to the model, behind those that wait, and returns. Whatever is wrong with it is said here, before
 * anything is computed. `generation` is to be released. */
PACELINE_API paceline_result paceline_submit(paceline_model* model, const paceline_request* request,
                                             paceline_generation** generation, char** problem);

/* Until it has ended, and how: PACELINE_OK, _CANCELLED, _DEADLINE, _CLOSED or _FAILED. */
PACELINE_API paceline_result paceline_wait(paceline_generation* generation, char** problem);

/* Both. `generation` is set wherever the request was taken, also where it did not end well; it may be NULL for those
 * who have heard all by on_event. */
PACELINE_API paceline_result paceline_generate(paceline_model* model, const paceline_request* request,
                                               paceline_generation** generation, char** problem);

/* Ends it at its next step. Whoever has ended already does not mind. */
PACELINE_API void paceline_cancel(paceline_generation* generation);

/* What it took. Once it has ended. */
PACELINE_API paceline_result paceline_usage_of(const paceline_generation* generation, paceline_usage* usage,
                                               char** problem);
/* One of its texts, from 0. Once it has ended. What is pointed to lives until the generation is released. */
PACELINE_API paceline_result paceline_choice_of(const paceline_generation* generation, int32_t number,
                                                paceline_choice* choice, char** problem);

/* One that is still running is cancelled. After this its callback is not called any more: where the model's thread is
 * in it at this moment, this waits for it to return, unless it is called from within that callback, or by one that the
 * callback waits for itself, releasing what belongs to it. NULL is fine. */
PACELINE_API void paceline_release(paceline_generation* generation);

#ifdef __cplusplus
}
#endif

#endif
