// A task in words: who, what, why, and at what price.

import { short } from '../shell.js';
import { KINDS, OF_OWNERS } from './kinds.js';

const UNITS = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];

/** A moment as the server writes it into a sentence. */
const MOMENT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d/g;

/** A length of time: its two largest units. */
export function length(seconds) {
  let rest = Math.max(Math.round(seconds), 0);
  const parts = [];
  for (const [size, unit] of UNITS) {
    const count = Math.floor(rest / size);
    rest %= size;
    if (count > 0 && parts.length < 2) parts.push(`${count} ${unit}`);
    else if (parts.length) break;
  }
  return parts.join(' ') || '0 s';
}

/** Credits of micro-credits, with thousands apart. */
export function credits(micro) {
  const amount = micro / 1e6;
  const digits = amount === 0 || Math.abs(amount) >= 100 ? 2 : 6;
  return amount.toLocaleString('en', { maximumFractionDigits: digits });
}

/** A price per node and second, as one per node and hour. */
export const perHour = (micro) => `${credits(micro * 3600)} credits per node-hour`;

export const count = (number, one, many) => `${number.toLocaleString('en')} ${number === 1 ? one : many}`;

/** Whose and what: in a line. */
export function title(table, at) {
  const kind = KINDS[table.kind[at] & 15];
  const label = table.texts[table.label[at]];
  if (!label && !OF_OWNERS.has(table.kind[at] & 15)) return `${kind.glyph} ${kind.name}: a job of another user`;
  const user = table.texts[table.user[at]];
  const name = table.job[at] ? `job ${label}` : label;
  return `${kind.glyph} ${kind.name}${name ? `: ${name}` : ''}${user ? ` of ${user}` : ''}`;
}

/** What a task costs, as the server says it. */
export function cost(table, at) {
  const kind = KINDS[table.kind[at] & 15];
  return `${credits(table.cost[at])} credits ${kind.cost || 'in all'}`;
}

/** Everything that is known of a task; `place`: its nodes. */
export function lines(table, at, place) {
  const kind = KINDS[table.kind[at] & 15];
  const [start, end, price] = [table.start[at], table.end[at], table.price[at]];
  const all = [title(table, at)];
  const why = table.texts[table.why[at]];
  if (why) all.push(why.replace(MOMENT, (it) => short(Date.parse(it) / 1000)));
  all.push(place);
  all.push(`${short(start)} to ${short(end)} · ${length(end - start)}`);
  if (price >= 0) all.push(`${perHour(price)}, ${cost(table, at)}`);
  return all;
}

/** Pools whose sites are not reached, and since when. */
export function unreachedPools(frame) {
  return frame.pools.filter((pool) => pool.away).map((pool) => `▲ ${pool.name} failing since ${short(pool.away)}: as it was then`);
}

/** Why nothing is to be seen, if so. */
export function whyEmpty(frame, choice, seen) {
  const [nodes, tasks] = frame.all;
  if (nodes === 0) return 'No site has any nodes.';
  if (frame.rows === 0) return `No pool and no node is called “${choice.find}”. Showing 0 of ${count(nodes, 'node', 'nodes')}.`;
  if (tasks === 0) return 'Nothing has run here so far, and nothing waits.';
  if (seen > 0) return '';
  return `Nothing in this view${choice.find || choice.whose === 'mine' ? ' of what was chosen' : ''}. F shows all.`;
}
