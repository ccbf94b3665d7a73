// A chart over time or over another number: uPlot, with a sentence for the newest values and a table for those who want
// numbers. Bars stand on each other where they are stacked.
import { html, useEffect, useLayoutEffect, useRef, useState } from "../base/view.js";
import { number, percent, t, time } from "../base/words.js";
import uPlot from "../../vendor/uplot.js";

// Steps of an axis that counts.
const kWhole = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 1e4, 1e5];
const colour = (name) => {
  const probe = document.createElement("i");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
};

function stacked(columns) {
  const sums = columns[0].map(() => 0);
  return columns.map((column) => column.map((value, at) => (sums[at] += value ?? 0)));
}

function optionsOf({ series, isTime, stack, bars, onSelect, show }, width) {
  const ink = colour("soft"), grid = colour("line");
  const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid } };
  const times = { space: 100, values: (_, values, at, room, step) => values.map((value) => time(value * 1000, step < 60 ? "2-digit" : undefined)) };
  return {
    width, height: 180, padding: [null, isTime ? 40 : null, null, null], cursor: { show: Boolean(onSelect), drag: { x: Boolean(onSelect), y: false, setScale: false } }, legend: { show: false },
    scales: { x: { time: Boolean(isTime) }, y: { range: show === percent ? [0, 1] : (_, low, high) => [0, high > 0 ? high * 1.05 : 1] } },
    axes: [{ ...axis, size: 32, ...(isTime ? times : { incrs: kWhole }) }, { ...axis, size: 72, ...(show === number && { incrs: kWhole }), values: (_, values) => values.map((value) => (show ? show(value) : number(value, Math.abs(value) < 10 && value % 1 ? 2 : 0))) }],
    series: [{}, ...series.map((one, at) => ({ label: one.name, stroke: colour(one.colour), fill: stack || bars ? colour(one.colour) : undefined, width: 2, points: { show: false }, spanGaps: true,
      paths: bars ? uPlot.paths.bars({ size: [0.7, 40] }) : one.stepped ? uPlot.paths.stepped({ align: 1 }) : undefined, at }))],
    hooks: onSelect ? { setSelect: [(plot) => onSelect(plot.select.width > 2 ? [plot.posToVal(plot.select.left, "x"), plot.posToVal(plot.select.left + plot.select.width, "x")] : null)] } : {},
  };
}

// Painted from the top: the last covers those behind it.
const arranged = (props) => {
  if (!props.stack) return { ...props, data: props.data };
  const sums = stacked(props.data.slice(1));
  return { ...props, series: [...props.series].reverse(), data: [props.data[0], ...sums.reverse()] };
};

export function Chart(props) {
  const place = useRef(), plot = useRef();
  const shape = JSON.stringify([props.series, props.stack, props.bars, document.documentElement.dataset.theme]);
  useEffect(() => {
    const made = arranged(props);
    const box = place.current, width = () => Math.max(box.clientWidth, 200);
    const drawn = (plot.current = new /** @type {any} */ (uPlot)(optionsOf(made, width()), made.data, box));
    drawn.shape = shape;
    const watch = new ResizeObserver(() => box.isConnected && drawn.width !== width() && drawn.setSize({ width: width(), height: 180 }));
    watch.observe(box);
    return () => {
      watch.disconnect();
      drawn.destroy();
    };
  }, [shape]);
  // In the frame in which its numbers change; one of another shape is made anew.
  useLayoutEffect(() => {
    if (plot.current?.shape === shape) plot.current.setData(arranged(props).data);
  }, [props.data]);
  // What was chosen elsewhere is marked here; nobody is told of it again.
  useEffect(() => {
    if (!props.onSelect) return;
    const drawn = plot.current, [from, to] = (props.marked ?? [0, 0]).map((x) => drawn.valToPos(x, "x"));
    drawn.setSelect({ left: from, width: props.marked ? Math.max(to - from, 2) : 0, top: 0, height: drawn.over.clientHeight }, false);
  }, [props.marked, props.onSelect && props.data]);
  const [isOpen, open] = useState(false);
  const [xs, ...ys] = props.data;
  // A depth is a whole number, a mean or a time is not.
  const show = props.show ?? ((value) => number(value, Number.isInteger(value) ? 0 : 2));
  const newest = props.series.map((one, at) => `${one.name} ${show(ys[at]?.at(-1))}`).join(" · ");
  const rows = isOpen ? xs.slice(-20) : [];
  return html`<section class="chart card"><h2>${props.name}</h2>
    <p class="small">${props.series.map((one, at) => html`<span class="key"><i style=${{ background: `var(--${one.colour})` }}></i>${one.name} <b>${show(ys[at]?.at(-1))}</b></span>`)}</p>
    <div class="plot" ref=${place} role="img" aria-label=${`${props.name}: ${newest}`}></div>
    <details onToggle=${(event) => open(event.target.open)}><summary>${t("as_table")}</summary><div class="scroll" tabindex="0" role="region" aria-label=${props.name}><table><caption class="unseen">${props.name}</caption>
      <thead><tr><th scope="col">${props.x ?? t("time")}</th>${props.series.map((one) => html`<th scope="col" class="num">${one.name}</th>`)}</tr></thead>
      <tbody>${rows.map((x, at) => html`<tr><th scope="row">${props.isTime ? time(x * 1000) : number(x, 2)}</th>${ys.map((column) => html`<td class="num">${show(column.at(at - rows.length))}</td>`)}</tr>`)}</tbody></table></div></details></section>`;
}
