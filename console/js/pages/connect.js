// How other programs reach this server.
import { html, useEffect, useState } from "../base/view.js";
import { t } from "../base/words.js";
import { ask } from "../api/http.js";
import { model, session } from "../state/server.js";
import { Copy, Field } from "../parts/controls.js";

const modelName = () => model.value?.id ?? "default";
// Those that `paceline connect` writes nothing for take two lines.
const kOthers = () => {
  const base = `${location.origin}/v1`, key = "YOUR_KEY", name = modelName();
  return [
    ["zed", `{ "language_models": { "openai_compatible": { "paceline": { "api_url": "${base}", "available_models": [{ "name": "${name}", "max_tokens": ${model.value?.context_length ?? 4096} }] } } } }`],
    ["aider", `export OPENAI_API_BASE=${base}\nexport OPENAI_API_KEY=${key}\naider --model openai/${name}`],
    ["Open WebUI", `export OPENAI_API_BASE_URL=${base}\nexport OPENAI_API_KEY=${key}`],
    ["LangChain", `ChatOpenAI(base_url="${base}", api_key="${key}", model="${name}")`],
    ["AI SDK", `createOpenAICompatible({ name: "paceline", baseURL: "${base}", apiKey: "${key}" })("${name}")`],
  ];
};

const curlText = () => `curl ${location.origin}/v1/chat/completions -d '{"model": "${modelName()}", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 32}'`;

function TryIt() {
  const [answer, setAnswer] = useState("");
  const go = async () => {
    setAnswer("…");
    try {
      const made = await ask("/v1/chat/completions", { method: "POST", body: { model: modelName(), messages: [{ role: "user", content: "Hello" }], max_tokens: 32 } });
      setAnswer(JSON.stringify(made, null, 1));
    } catch (error) {
      setAnswer(error.message);
    }
  };
  return html`<section class="card"><div class="row"><h2>curl</h2><span class="push"></span><${Copy} text=${curlText()} /><button class="main" type="button" onClick=${go}>${t("try")}</button></div>
    <pre tabindex="0">${curlText()}</pre>${answer && html`<pre tabindex="0" aria-live="polite">${answer}</pre>`}</section>`;
}

const Client = ({ name, children, text }) => html`<section class="card"><div class="row"><h2>${name}</h2><span class="push"></span><${Copy} text=${text} /></div>${children}</section>`;

export default function ConnectPage() {
  const [clients, setClients] = useState([]);
  useEffect(() => void ask("/v1/clients").then((found) => setClients(found.clients), () => {}), [model.value?.id]);
  return html`<div class="page"><h1>${t("page.connect")}</h1>
    <section class="card"><div class="row"><${Field} name=${t("address")}><input readonly value=${`${location.origin}/v1`} /><//><${Copy} text=${`${location.origin}/v1`} />
      <${Field} name=${t("key.name")}><input readonly value=${session.value?.keys ? "••••••••" : t("key.none")} /><//></div></section>
    <${TryIt} /><div class="grid">${clients.map((one) => html`<${Client} name=${one.name} text=${one.variables + one.text}>
      ${one.variables && html`<pre tabindex="0">${one.variables.trim()}</pre>`}${one.file && html`<p class="mono small soft">~/${one.file}</p><pre tabindex="0">${one.text}</pre>`}<p class="mono small">${one.then}</p><//>`)}
      ${kOthers().map(([name, text]) => html`<${Client} name=${name} text=${text}><pre tabindex="0">${text}</pre><//>`)}</div></div>`;
}
