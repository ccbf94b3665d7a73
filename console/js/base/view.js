// What pages are written with.
import { h, render } from "../../vendor/preact.js";
import { useEffect, useLayoutEffect, useRef, useState, useMemo } from "../../vendor/hooks.js";
import { signal, computed, effect, batch, useSignal, untracked } from "../../vendor/signals.js";
import htm from "../../vendor/htm.js";

export const html = htm.bind(h);
export { h, render, signal, computed, effect, batch, untracked, useSignal, useEffect, useLayoutEffect, useRef, useState, useMemo };
