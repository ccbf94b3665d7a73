// A clip, small. The policy lets a page play what it made itself, and no address with data in it.
import { html, useEffect, useState } from "../base/view.js";

function clipFile(url) {
  const [, type, body] = /^data:(video\/[\w.+-]+);.*?base64,(.*)$/s.exec(url) ?? [];
  return type && URL.createObjectURL(new Blob([Uint8Array.from(atob(body), (one) => one.charCodeAt(0))], { type }));
}

export function Clip({ url, name, controls }) {
  const [place, setPlace] = useState("");
  useEffect(() => {
    const made = clipFile(url);
    setPlace(made);
    return () => URL.revokeObjectURL(made);
  }, [url]);
  return html`${place && html`<video src=${place} aria-label=${name} controls=${controls} preload="metadata" muted></video>`}<span class="small">${name}</span>`;
}
