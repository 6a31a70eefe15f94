// The names of pools and nodes, beside the canvas.

import { told } from '../shell.js';
import { AXIS } from './draw.js';
import { credits } from './words.js';

const LINE = 15;
/** Letters of a pool that have room on a phone, pixels that are less than a desk's. */
const [SHORT, NARROW] = [10, 120];

/** Pools of a site begin alike: where there is little room, the site's name is left out. */
function fitting(name, width) {
  if (width >= NARROW || name.length <= SHORT + 1) return name;
  const [, warning, own] = /^(▲ )?(.*)$/.exec(name);
  const end = own.split('/').pop();
  return `${warning || ''}…${end.length < SHORT ? `/${end}` : end.slice(-SHORT)}`;
}

/** Where there is little room, a node's name lacks what its pool's name says already. */
function within(name, pool, width) {
  const prefix = `${pool.split('/').pop()}/`;
  return width < NARROW && name.startsWith(prefix) ? name.slice(prefix.length) : name;
}

/** What would be written where; `hidden`: pools whose names have no room. */
function layout(camera, shown, frame) {
  const parts = [];
  let free = 0;
  let hidden = 0;
  const tall = camera.rowHeight;
  const names = shown && tall >= LINE && shown.names.length ? shown.names : [];
  for (const pool of frame.pools) {
    const [top, bottom] = [camera.y(pool.first), camera.y(pool.first + pool.nodes)];
    if (bottom <= 0 || top >= camera.height) continue;
    // In the middle of the first node's row, as nodes' names are; within the pool in any case.
    const middle = Math.max((tall - LINE) / 2, 0);
    const y = Math.max(Math.min(Math.max(top + middle, 0), bottom - LINE), 0);
    if (y < free) { hidden += 1; continue; }
    const price = pool.price >= 0 ? ` · ${credits(pool.price * 3600)}` : '';
    const text = pool.away ? `▲ ${pool.name}` : pool.name;
    parts.push({ y, text, more: price, strong: true });
    free = y + LINE;
    if (!names.length) continue;
    // On the right, so that the first node has its name beside the pool's.
    for (let row = pool.first; row < pool.first + pool.nodes; row += 1) {
      const at = camera.y(row) + (tall - LINE) / 2;
      const name = names[row - shown.part.first];
      if (!name || at < 0 || at > camera.height - LINE) continue;
      parts.push({ y: at, text: name, more: '', strong: false, pool: pool.name });
    }
  }
  return { parts, hidden };
}

export class Lanes {
  constructor(element) {
    this.element = element;
    this.was = '';
  }

  /** Writes the names again if they moved; how many pools' names have no room. */
  show(camera, shown, frame) {
    const { parts, hidden } = layout(camera, shown, frame);
    const zone = told(camera.from).slice(20);
    const key = `${zone}|${this.element.clientWidth}|${parts.map((it) => `${Math.round(it.y)}${it.text}${it.more}`).join('|')}`;
    if (key === this.was) return hidden;
    this.was = key;
    const corner = document.createElement('em');
    corner.textContent = zone;
    if (frame.pools.some((pool) => pool.price >= 0)) corner.appendChild(document.createElement('small')).textContent = ', credits per node-h';
    this.element.replaceChildren(corner, ...parts.map(({ y, text, more, strong, pool }) => {
      const label = document.createElement(strong ? 'strong' : 'span');
      label.textContent = strong ? fitting(text, this.element.clientWidth) : within(text, pool, this.element.clientWidth);
      if (more) label.appendChild(document.createElement('small')).textContent = more;
      label.title = text + more;
      label.style.setProperty('top', `${AXIS + y}px`);
      return label;
    }));
    return hidden;
  }
}
