// Available windows: those that the page lists, and a waiting job's others. They have no
// nodes yet; each is drawn on the lowest rows that are free for it.

import { places } from './data.js';

/** What the page lists: elements with data-window (its name), data-start and data-nodes. */
export function listed() {
  return [...document.querySelectorAll('[data-window]')].map((element) => ({
    key: element.dataset.window,
    start: Number(element.dataset.start),
    text: element.dataset.text || element.dataset.window,
    nodes: JSON.parse(element.dataset.nodes),
  }));
}

/** The window that the address names; nothing, if that cannot be read. */
export function named() {
  try { return decodeURIComponent(location.hash.slice(1)); } catch { return ''; }
}

/** Other windows of a job that waits, as its explanation names them. */
export async function fallBacks(job) {
  const answer = await fetch(`/v1/jobs/${job}/explain`);
  const told = answer.ok ? await answer.json() : { fall_backs: [] };
  return told.fall_backs.map((offer) => ({
    key: `or-${offer.criterion}`, start: offer.start, text: `or: least ${offer.criterion}`, nodes: offer.nodes,
  }));
}

/** Where they are drawn: `{key, text, row, count, start, end}` for each run of rows. */
export async function placed(windows, frame, choice) {
  const pieces = windows.flatMap((window) => window.nodes.map((share) => ({
    window, end: share.end, nodes: share.nodes, lane: frame.pools.findIndex((pool) => pool.name === share.pool),
  }))).filter((piece) => piece.lane >= 0);
  if (!pieces.length) return [];
  const found = await places(pieces.map((it) => ({ lane: it.lane, nodes: it.nodes, start: it.window.start, end: it.end })), choice);
  return pieces.flatMap(({ window, end }, at) => (found[at] || []).map(([row, count], part) => ({
    key: window.key, text: part ? '' : window.text, row, count, start: window.start, end,
  })));
}
