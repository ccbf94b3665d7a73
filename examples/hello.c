/* A question, and its answer as it is written.
 *
 *     cc hello.c -o hello $(pkg-config --cflags --libs paceline) && ./hello "Tell a story about a fox."
 */
#include <paceline/paceline.h>
#include <stdio.h>

/* Called for everything that happens. 0: go on; anything else would end the answer here. */
static int32_t hear(void* user, const paceline_event* event) {
  (void)user;
  if (event->kind == PACELINE_EVENT_TEXT) fwrite(event->text, 1, event->text_bytes, stdout);
  return fflush(stdout);
}

int main(int argc, char** argv) {
  char* problem = NULL; /* what went wrong, in words */
  paceline_model* model = NULL;
  paceline_result result = paceline_open(NULL, &model, &problem); /* NULL: the model that came with the library */

  paceline_message said = {"user", argc > 1 ? argv[1] : "Tell a story about a small boat."};
  paceline_chat chat;
  paceline_chat_init(&chat, sizeof chat);
  chat.messages = &said;
  chat.message_count = 1;

  paceline_request request;
  paceline_request_init(&request, sizeof request);
  request.chat = &chat;
  request.temperature = 0; /* always the likeliest word: the same answer each time */
  request.on_event = hear;

  if (result == PACELINE_OK) result = paceline_generate(model, &request, NULL, &problem);
  if (result != PACELINE_OK) fprintf(stderr, "hello: %s\n", problem);
  paceline_free(problem);
  paceline_close(model);
  return result == PACELINE_OK ? 0 : 1;
}
