// Signs, as paths of 24 × 24.
import { html } from "../base/view.js";

const kPaths = {
  chat: "M4 5h16v11H9l-5 4z", speculation: "M4 18h3l3-12 4 14 3-9h3", monitor: "M4 20V10M10 20V4M16 20v-7M22 20H2",
  benchmark: "M12 21a9 9 0 1 0-9-9M12 12l5-4M3 12h2", models: "M12 3l8 4.5v9L12 21l-8-4.5v-9zM4 7.5l8 4.5 8-4.5M12 12v9",
  connect: "M9 15l6-6M8 8l2-2a4 4 0 0 1 6 6l-2 2M16 16l-2 2a4 4 0 0 1-6-6l2-2", log: "M5 4h14v16H5zM8 8h8M8 12h8M8 16h5",
  settings: "M4 7h10M18 7h2M4 17h2M10 17h10M14 5v4M6 15v4", plus: "M12 5v14M5 12h14", stop: "M7 7h10v10H7z",
  send: "M5 12h14M13 6l6 6-6 6", again: "M20 11a8 8 0 1 0-2 6M20 4v7h-7", edit: "M4 20h4L19 9l-4-4L4 16z",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1", trash: "M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13", pin: "M9 3h6l-1 7 4 4H6l4-4zM12 14v7",
  left: "M15 5l-7 7 7 7", right: "M9 5l7 7-7 7", picture: "M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4", sliders: "M4 8h9M17 8h3M4 16h3M11 16h9M15 6v4M9 14v4",
  up: "M7 11v9H4v-9zM7 11l4-8c2 0 3 1 3 3v4h6l-2 10H7", down: "M7 13V4H4v9zM7 13l4 8c2 0 3-1 3-3v-4h6L18 4H7", die: "M5 5h14v14H5zM9 9v.01M15 15v.01M12 12v.01",
  lock: "M6 11h12v9H6zM9 11V7a3 3 0 0 1 6 0v4", close: "M6 6l12 12M18 6L6 18", save: "M12 4v11M7 10l5 5 5-5M5 20h14", play: "M7 5l12 7-12 7z", out: "M14 4h6v16h-6M10 8l-4 4 4 4M6 12h10",
};

export const icon = (name) => html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${kPaths[name]} /></svg>`;
