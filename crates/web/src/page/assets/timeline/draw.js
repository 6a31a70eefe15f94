// Draws the board: the tasks on one canvas, and what moves over them on another.

import { ALARMS, KINDS, OF_OWNERS, palette, patterns, rgb } from './kinds.js';
import { told } from '../shell.js';

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400,
  172800, 604800, 1209600, 2592000, 7776000, 31536000];
export const AXIS = 36;
const LABEL = 40;
/** How much of its colour a job of another user has. */
const QUIET = 0.35;
const FONT = '12px system-ui, sans-serif';
/** Texts whose widths are remembered. */
const MEASURED = 20000;

export class Painter {
  constructor(base, over) {
    this.base = base;
    this.over = over;
    this.lengths = new Map();
    this.theme();
  }

  theme() {
    this.colours = palette();
    this.hatch = patterns(this.base.getContext('2d'), this.colours);
    this.bitmapOf = null;
  }

  size(width, height) {
    const ratio = window.devicePixelRatio || 1;
    for (const canvas of [this.base, this.over]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round((height + AXIS) * ratio);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height + AXIS}px`;
      canvas.getContext('2d').setTransform(ratio, 0, 0, ratio, 0, 0);
    }
  }

  /** The tasks. */
  tasks(camera, shown, frame) {
    const pen = this.base.getContext('2d');
    pen.fillStyle = this.colours.panel;
    pen.fillRect(0, 0, camera.width, camera.height + AXIS);
    pen.save();
    pen.beginPath();
    pen.rect(0, AXIS, camera.width, camera.height);
    pen.clip();
    pen.translate(0, AXIS);
    const ticks = this.ticks(camera);
    this.known(pen, camera, shown);
    if (shown && shown.cells) this.cells(pen, camera, shown);
    this.rows(pen, camera, ticks);
    if (shown && shown.rectangles) this.rectangles(pen, camera, shown.rectangles);
    this.borders(pen, camera, frame);
    pen.restore();
    this.axis(pen, camera, ticks);
  }

  /** Paper where the picture is known; the rest stays grey until it comes. */
  known(pen, camera, shown) {
    if (!shown) return;
    const { from, until, first, rows } = shown.part;
    const [x0, y0] = [Math.max(camera.x(from), 0), Math.max(camera.y(first), 0)];
    pen.fillStyle = this.colours.paper;
    pen.fillRect(x0, y0, Math.min(camera.x(until), camera.width) - x0, Math.min(camera.y(first + rows), camera.height) - y0);
  }

  /** Faint lines at the hours, and between nodes where they are thick enough. */
  rows(pen, camera, ticks) {
    pen.strokeStyle = this.colours.line;
    pen.lineWidth = 1;
    pen.globalAlpha = 0.6;
    pen.beginPath();
    for (const at of ticks.all) {
      const x = Math.round(camera.x(at)) + 0.5;
      pen.moveTo(x, 0);
      pen.lineTo(x, camera.height);
    }
    if (camera.rowHeight < 10) { pen.stroke(); pen.globalAlpha = 1; return; }
    for (let row = Math.ceil(camera.top); row < camera.top + camera.rows; row += 1) {
      const y = Math.round(camera.y(row)) + 0.5;
      pen.moveTo(0, y);
      pen.lineTo(camera.width, y);
    }
    pen.stroke();
    pen.globalAlpha = 1;
  }

  ticks(camera) {
    const least = (camera.span * 90) / camera.width;
    const step = STEPS.find((it) => it >= least) || STEPS[STEPS.length - 1];
    // How far the chosen clock is behind UTC.
    const shift = Math.floor(camera.from) - Date.parse(`${told(Math.floor(camera.from)).slice(0, 19).replace(' ', 'T')}Z`) / 1000;
    const all = [];
    for (let at = Math.ceil((camera.from - shift) / step) * step + shift; at < camera.until; at += step) all.push(at);
    return { step, all };
  }

  axis(pen, camera, { step, all }) {
    pen.font = FONT;
    pen.textBaseline = 'middle';
    pen.lineWidth = 1;
    pen.fillStyle = this.colours.soft;
    pen.strokeStyle = this.colours.soft;
    pen.beginPath();
    for (const at of all) {
      const x = Math.round(camera.x(at)) + 0.5;
      pen.moveTo(x, AXIS - 6);
      pen.lineTo(x, AXIS);
      const text = told(at);
      const label = step >= 86400 ? text.slice(0, 10) : step < 60 ? text.slice(11, 19) : text.slice(11, 16);
      const day = step < 86400 && text.slice(11, 19) === '00:00:00' ? text.slice(5, 10) : label;
      const width = this.lengthOf(pen, day);
      if (x - width / 2 > 0 && x + width / 2 < camera.width) pen.fillText(day, x - width / 2, 11);
    }
    pen.moveTo(0, AXIS - 0.5);
    pen.lineTo(camera.width, AXIS - 0.5);
    pen.stroke();
  }

  /** The width of a text in `FONT`, which is measured once. */
  lengthOf(pen, text) {
    let length = this.lengths.get(text);
    if (length === undefined) {
      if (this.lengths.size >= MEASURED) this.lengths.clear();
      length = pen.measureText(text).width;
      this.lengths.set(text, length);
    }
    return length;
  }

  rectangles(pen, camera, all) {
    const height = camera.rowHeight;
    const thin = height < 4;
    const labels = [];
    const { table } = all;
    let [last, faint] = [-1, false];
    pen.font = FONT;
    pen.textBaseline = 'middle';
    pen.lineWidth = 1;
    pen.strokeStyle = this.colours.edge;
    for (const at of all.order) {
      const task = all.task[at];
      const x0 = camera.x(table.start[task]);
      const x1 = camera.x(table.end[task]);
      const y = camera.y(all.row[at]);
      const tall = Math.max(all.count[at] * height, 1);
      if (x1 < 0 || x0 > camera.width || y + tall < 0 || y > camera.height) continue;
      const left = Math.max(x0, -4);
      const width = Math.max(Math.min(x1, camera.width + 4) - left, 1);
      const kind = table.kind[task] & 15;
      if (kind !== last) pen.fillStyle = this.hatch[kind] || this.colours.kinds[kind];
      last = kind;
      // The reader's own are seen first; failures are seen whosever they are.
      const quiet = !(table.kind[task] & 16) && !ALARMS.has(kind) && !OF_OWNERS.has(kind);
      if (quiet !== faint) pen.globalAlpha = quiet ? QUIET : 1;
      faint = quiet;
      pen.fillRect(left, y, width, tall);
      if (thin || width < 3) continue;
      if (quiet) pen.globalAlpha = 1;
      faint = false;
      pen.strokeRect(left + 0.5, y + 0.5, width - 1, Math.max(tall - 1, 1));
      if (table.kind[task] & 16 && tall >= 6) this.own(pen, left, y, width, tall);
      const named = !quiet || table.texts[table.label[task]];
      if (named && width >= LABEL && tall >= 14) labels.push([at, kind, left, y, width, tall]);
    }
    pen.globalAlpha = 1;
    for (const label of labels) this.label(pen, all, ...label);
  }

  /** The reader's own have a double edge. */
  own(pen, left, y, width, tall) {
    if (width < 8) return;
    pen.strokeStyle = this.colours.paper;
    pen.strokeRect(left + 1.5, y + 1.5, width - 3, tall - 3);
    pen.strokeStyle = this.colours.edge;
    pen.strokeRect(left + 2.5, y + 2.5, width - 5, tall - 5);
  }

  label(pen, all, at, kind, left, y, width, tall) {
    const name = all.table.texts[all.table.label[all.task[at]]];
    const whole = `${KINDS[kind].glyph} ${name || KINDS[kind].short}`;
    // What begins before the view is named at the view's edge.
    const x = Math.max(left, 0);
    const room = left + width - x - 6;
    if (room < 20) return;
    // A job's number alone is better than half of its name.
    const fits = (it) => this.lengthOf(pen, it) + 6 <= room;
    const number = `${KINDS[kind].glyph} ${(name || '').split(' ')[0]}`.trimEnd();
    const text = fits(whole) ? whole : number;
    if (!fits(text)) return;
    const length = this.lengthOf(pen, text);
    pen.fillStyle = this.colours.paper;
    pen.globalAlpha = 0.88;
    pen.fillRect(x + 3, y + tall / 2 - 8, Math.min(length + 6, room), 16);
    pen.globalAlpha = 1;
    pen.fillStyle = this.colours.ink;
    pen.fillText(text, x + 6, y + tall / 2);
  }

  cells(pen, camera, shown) {
    const { cells, part } = shown;
    if (this.bitmapOf !== cells) this.bitmap = this.coloured(cells);
    this.bitmapOf = cells;
    const x0 = camera.x(cells.from);
    const x1 = camera.x(cells.from + cells.step * cells.columns);
    const y0 = camera.y(part.first);
    const y1 = camera.y(part.first + part.rows);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(this.bitmap, x0, y0, x1 - x0, y1 - y0);
  }

  /** A pixel per cell, by a table of the 256 colours that there are. */
  coloured({ columns, groups, bytes }) {
    const image = new ImageData(columns, groups);
    const paper = rgb(this.colours.paper);
    const kinds = this.colours.kinds.map((css) => (css ? rgb(css) : paper));
    const table = new Uint32Array(256);
    const channels = new Uint8Array(table.buffer);
    for (let byte = 0; byte < 256; byte += 1) {
      const kind = kinds[byte >> 4] ? byte >> 4 : 0;
      // At least a third of the colour: what is there is seen.
      const part = (byte & 15) === 0 || kind === 0 ? 0 : ALARMS.has(kind) ? 1 : 0.35 + (0.65 * (byte & 15)) / 15;
      for (let channel = 0; channel < 3; channel += 1) {
        channels[byte * 4 + channel] = Math.round(paper[channel] + ((kinds[kind] || paper)[channel] - paper[channel]) * part);
      }
      channels[byte * 4 + 3] = 255;
    }
    const pixels = new Uint32Array(image.data.buffer);
    for (let at = 0; at < bytes.length; at += 1) pixels[at] = table[bytes[at]];
    const bitmap = new OffscreenCanvas(columns, groups);
    bitmap.getContext('2d').putImageData(image, 0, 0);
    return bitmap;
  }

  borders(pen, camera, frame) {
    pen.strokeStyle = this.colours.soft;
    pen.lineWidth = 1;
    pen.beginPath();
    for (const pool of frame.pools.slice(1)) {
      const y = Math.round(camera.y(pool.first)) + 0.5;
      pen.moveTo(0, y);
      pen.lineTo(camera.width, y);
    }
    pen.stroke();
  }

  /** What moves: the present, what the pointer is on, what is chosen, windows, and joins of a job's runs. */
  moving(camera, now, marks, joins) {
    const pen = this.over.getContext('2d');
    pen.clearRect(0, 0, camera.width, camera.height + AXIS);
    pen.save();
    pen.translate(0, AXIS);
    pen.beginPath();
    pen.rect(0, 0, camera.width, camera.height);
    pen.clip();
    for (const mark of marks) this.mark(pen, camera, mark);
    pen.setLineDash([2, 4]);
    pen.strokeStyle = this.colours.ink;
    pen.lineWidth = 2;
    for (const [x0, y0, x1, y1] of joins) {
      pen.beginPath();
      pen.moveTo(camera.x(x0), camera.y(y0));
      pen.lineTo(camera.x(x1), camera.y(y1));
      pen.stroke();
    }
    pen.restore();
    this.present(pen, camera, now);
  }

  mark(pen, camera, { row, count, start, end, style, text }) {
    const x0 = Math.max(camera.x(start), -4);
    const x1 = Math.min(camera.x(end), camera.width + 4);
    const [y, width] = [camera.y(row), Math.max(x1 - x0, 3)];
    const tall = Math.max(count * camera.rowHeight, 3);
    const window = style === 'window' || style === 'picked';
    if (style === 'picked') {
      pen.fillStyle = this.colours.accent;
      pen.globalAlpha = 0.3;
      pen.fillRect(x0, y, width, tall);
      pen.globalAlpha = 1;
    }
    pen.setLineDash(style === 'window' ? [6, 4] : []);
    // A light line under the dark one: seen on whatever it is drawn over.
    pen.strokeStyle = this.colours.paper;
    pen.lineWidth = 5;
    pen.strokeRect(x0 + 1, y + 1, width - 2, tall - 2);
    pen.strokeStyle = style === 'chosen' ? this.colours.ink : this.colours.accent;
    pen.lineWidth = style === 'window' ? 2 : 3;
    pen.strokeRect(x0 + 1, y + 1, width - 2, tall - 2);
    if (!window || !text) return;
    pen.font = `bold ${FONT}`;
    pen.textBaseline = 'middle';
    const length = pen.measureText(text).width + 8;
    // At its end, if that is in view: the task under it has its own name at the beginning.
    const last = Math.min(x1, camera.width) - length - 4;
    const [x, middle] = [Math.max(last, Math.max(x0, 0) + 4), y + Math.min(tall / 2, 12)];
    pen.fillStyle = style === 'picked' ? this.colours.accent : this.colours.paper;
    pen.fillRect(x, middle - 9, length, 18);
    pen.fillStyle = style === 'picked' ? this.colours.paper : this.colours.accent;
    pen.fillText(text, x + 4, middle + 1);
  }

  present(pen, camera, now) {
    const x = camera.x(now);
    if (x < 0 || x > camera.width) return;
    pen.strokeStyle = this.colours.bad;
    pen.lineWidth = 2;
    pen.beginPath();
    pen.moveTo(x, AXIS - 6);
    pen.lineTo(x, AXIS + camera.height);
    pen.stroke();
    const left = Math.min(Math.max(x - 15, 0), camera.width - 30);
    pen.fillStyle = this.colours.bad;
    pen.beginPath();
    pen.roundRect(left, AXIS - 17, 30, 15, 4);
    pen.fill();
    pen.fillStyle = this.colours.paper;
    pen.font = 'bold 11px system-ui, sans-serif';
    pen.textBaseline = 'middle';
    pen.fillText('now', left + 4, AXIS - 9);
  }
}
