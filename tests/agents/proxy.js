// Stands between an agent and the server, so that what the model says makes the agent's loop certain: the first request
// that offers the agent's shell has that alone, forced, with a command that is written down here; later ones get no
// tool and an answer that is written down, too. Everything else passes as it is.
import http from "node:http";

export const kCommand = "echo paceline-$((40+2))";
export const kOutput = "paceline-42";
export const kAnswer = "The command has run.";

const constants = (values) => ({
  type: "object",
  properties: Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { type: "string", enum: [value] }])),
  required: Object.keys(values),
  additionalProperties: false,
});
const answer = constants({ answer: kAnswer });

// How each wire says it: a tool's name, a call of this one tool, and an answer of this schema.
const wires = {
  "/v1/responses": {
    name: (tool) => tool.name,
    call: (body, name, schema) => {
      body.tools = [{ type: "function", name, parameters: schema, strict: true }];
      body.tool_choice = { type: "function", name };
    },
    answer: (body) => {
      if (body.tools) body.tool_choice = "none";
      body.text = { format: { type: "json_schema", name: "answer", schema: answer, strict: true } };
    },
  },
  "/v1/messages": {
    name: (tool) => tool.name,
    call: (body, name, schema) => {
      body.tools = [{ name, input_schema: schema }];
      body.tool_choice = { type: "tool", name };
    },
    answer: (body) => {
      body.thinking = { type: "disabled" };  // which this model would not come to an end of
      if (body.tools) body.tool_choice = { type: "none" };
      body.output_config = { ...body.output_config, format: { type: "json_schema", schema: answer } };
    },
  },
  "/v1/chat/completions": {
    name: (tool) => tool.function?.name,
    call: (body, name, schema) => {
      body.tools = [{ type: "function", function: { name, parameters: schema, strict: true } }];
      body.tool_choice = { type: "function", function: { name } };
    },
    answer: (body) => {
      if (body.tools) body.tool_choice = "none";
      body.response_format = { type: "json_schema", json_schema: { name: "answer", schema: answer, strict: true } };
    },
  },
};

// shell: the agent's tool, with its arguments. Gives the address to use, what was asked and said, and a way to stop.
export async function startProxy(port, key, shell) {
  const seen = [];
  let called = false;
  const proxy = http.createServer((request, reply) => {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => {
      let bytes = Buffer.concat(parts);
      const place = request.url.split("?")[0], wire = request.method === "POST" ? wires[place] : undefined;
      const one = { place, asked: bytes.toString(), said: "", status: 0 };
      seen.push(one);
      if (wire) {
        const body = JSON.parse(bytes);
        const calls = !called && body.tools?.some((tool) => wire.name(tool) === shell.name);
        called ||= calls;
        calls ? wire.call(body, shell.name, constants(shell.arguments)) : wire.answer(body);
        bytes = Buffer.from(JSON.stringify(body));
      }
      const headers = { ...request.headers, host: `127.0.0.1:${port}`, "content-length": bytes.length };
      delete headers["x-api-key"];
      headers.authorization = `Bearer ${key}`;
      const options = { host: "127.0.0.1", port, method: request.method, path: request.url, headers };
      const onward = http.request(options, (from) => {
        one.status = from.statusCode;
        reply.writeHead(from.statusCode, from.headers);
        from.on("data", (part) => {
          one.said += part;
          reply.write(part);
        });
        from.on("end", () => reply.end());
      });
      onward.on("error", () => reply.destroy());
      onward.end(bytes);
    });
  });
  await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${proxy.address().port}`, seen, stop: () => proxy.close() };
}
