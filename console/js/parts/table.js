// A table that is sorted by a click on a column's name, and becomes cards where there is no room.
import { html, useRef, useState } from "../base/view.js";

// columns: [{ name, of: row → value, show: row → what stands there, num }]; isFixed: whether a row stays as it is.
export function Table({ caption, columns, rows, first = -1, onRow, isFixed }) {
  const made = useRef(new WeakMap()).current;
  const [order, setOrder] = useState({ by: first, down: true });
  const by = columns[order.by];
  const sorted = by
    ? [...rows].sort((a, b) => {
        const x = by.of(a) ?? -Infinity, y = by.of(b) ?? -Infinity;
        return (x < y ? -1 : x > y ? 1 : 0) * (order.down ? -1 : 1);
      })
    : rows;
  const line = (row) => {
    if (made.has(row)) return made.get(row);
    const one = html`<tr key=${row.id} onClick=${onRow && (() => onRow(row))}>
      ${columns.map((column) => html`<td class=${column.num ? "num" : ""} data-name=${column.name}>${(column.show ?? column.of)(row)}</td>`)}</tr>`;
    if (isFixed?.(row)) made.set(row, one);
    return one;
  };
  const click = (at) => setOrder({ by: at, down: order.by === at ? !order.down : true });
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${caption}><table class="cards">
    <caption class="unseen">${caption}</caption>
    <thead><tr>${columns.map((column, at) => html`<th scope="col" class=${column.num ? "num" : ""}
      aria-sort=${order.by === at ? (order.down ? "descending" : "ascending") : undefined}>
      ${column.of ? html`<button type="button" onClick=${() => click(at)}>${column.name}</button>` : column.name}</th>`)}</tr></thead>
    <tbody>${sorted.map(line)}</tbody>
  </table></div>`;
}
