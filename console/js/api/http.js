// Questions to the server: JSON, and streams of events. Every request says that a page of the server's own sends it.
const kHeaders = { "x-paceline-console": "1" };

export class ApiError extends Error {
  constructor(status, message, code) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

async function failed(answer) {
  let message = `HTTP ${answer.status}`, code;
  try {
    const { error } = await answer.json();
    message = error?.message ?? error ?? message;
    code = error?.code;
  } catch {
    // It has no JSON: the status says enough.
  }
  return new ApiError(answer.status, message, code);
}

/**
 * @param {string} path
 * @param {{ method?: string, body?: unknown, signal?: AbortSignal }} [options]
 */
export async function ask(path, { method = "GET", body, signal } = {}) {
  const answer = await fetch(path, {
    method, signal, cache: "no-store",
    headers: body === undefined ? kHeaders : { ...kHeaders, "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (!answer.ok) throw await failed(answer);
  const text = await answer.text();
  return /json(;|$)/.test(answer.headers.get("content-type")) ? JSON.parse(text) : text;
}

// Lines of an answer, as they come.
async function* linesOfAnswer(answer) {
  const reader = answer.body.getReader(), decoder = new TextDecoder();
  let left = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    left += decoder.decode(value, { stream: true });
    const lines = left.split("\n");
    left = lines.pop();
    yield* lines;
  }
}

// Each event's object, as they come.
export async function* stream(path, body, signal) {
  const answer = await fetch(path, {
    method: "POST", signal, headers: { ...kHeaders, "content-type": "application/json" }, body: JSON.stringify(body),
  });
  if (!answer.ok) throw await failed(answer);
  for await (const line of linesOfAnswer(answer)) {
    if (!line.startsWith("data: ") || line === "data: [DONE]") continue;
    const event = JSON.parse(line.slice(6));
    if (event.error) throw new ApiError(event.error.status ?? 0, event.error.message ?? "", event.error.code);
    yield event;
  }
}

// What happens in the server, of the kinds that are named: [name, text] of each event.
export async function* happenings(only, signal) {
  const answer = await fetch(`/v1/events?only=${only}`, { signal, headers: kHeaders });
  if (!answer.ok) throw await failed(answer);
  let name = "";
  for await (const line of linesOfAnswer(answer)) {
    if (line.startsWith("event: ")) name = line.slice(7);
    if (line.startsWith("data: ")) yield [name, line.slice(6)];
  }
}
