// A text in colours: who wrote each piece of it. Pieces are told apart by their underline, too.
import { html } from "../base/view.js";
import { number, t } from "../base/words.js";
import { Colour } from "./controls.js";

export const kOrigins = ["plain", "accepted", "corrected", "bonus"];
const kOriginColours = { plain: "ink", accepted: "accepted", corrected: "corrected", bonus: "bonus" };

// Equal neighbours of a round are one piece. chosen: rounds [from, to] that are marked.
export function Spans({ rounds, quiet, onRound, chosen }) {
  const isMarked = (at) => chosen && at >= chosen[0] && at <= chosen[1];
  return html`<div class=${quiet ? "spans quiet" : "spans"} onMouseLeave=${() => onRound?.(null)}>${rounds.map((round, at) =>
    (round.spans ?? []).map((span) => html`<mark class=${span.origin + (isMarked(at) ? " marked" : "")} onMouseEnter=${() => onRound?.(at)} onClick=${() => onRound?.(at, true)}>${span.text}</mark>`))}</div>`;
}

export const SpanKey = () => html`<p class="small">${kOrigins.map((name) => html`<${Colour} colour=${kOriginColours[name]}>${t(name === "plain" ? "way.plain" : `origin.${name}`)}<//>`)}</p>`;

export function RoundFacts({ round }) {
  if (!round) return html`<p class="round soft small">${t("round.hover")}</p>`;
  return html`<div class="round small" aria-live="polite"><p><b>${t("round")} ${number(round.round)}</b> · ${t("depth")} ${number(round.depth)} · ${round.reason ?? ""}
    · ${t("guessed")} ${number(round.drafted)} · ${t("accepted")} ${number(round.accepted)}</p>
    <p>${t("draft")} ${number(round.draft_us)} µs · ${t("verify")} ${number(round.verify_us)} µs</p>
    ${round.rejected?.length > 0 && html`<p>${t("rejected")}: ${[].concat(round.rejected).map((text) => html`<del>${text}</del> `)}</p>`}</div>`;
}

// What all rounds did together. (A piece that goes on with a round counts nothing again.)
export function countRounds(rounds) {
  const made = { rounds: 0, drafted: 0, accepted: 0 };
  for (const round of rounds) for (const name of Object.keys(made)) made[name] += round[name] ?? 0;
  return made;
}
