// Draws the board: the tasks on one canvas, and what moves over them on another.

import { KINDS, palette, patterns, rgb } from './kinds.js';
import { told, isLocal } from '../shell.js';

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400,
  172800, 604800, 1209600, 2592000, 7776000, 31536000];
export const AXIS = 28;
const LABEL = 44;

export class Painter {
  constructor(base, over) {
    this.base = base;
    this.over = over;
    this.colours = palette();
    this.hatch = patterns(base.getContext('2d'), this.colours);
    this.bitmap = null;
    this.bitmapOf = null;
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
    pen.fillStyle = this.colours.paper;
    pen.fillRect(0, 0, camera.width, camera.height + AXIS);
    this.axis(pen, camera);
    pen.save();
    pen.beginPath();
    pen.rect(0, AXIS, camera.width, camera.height);
    pen.clip();
    pen.translate(0, AXIS);
    if (shown && shown.cells) this.cells(pen, camera, shown);
    if (shown && shown.rectangles) this.rectangles(pen, camera, shown.rectangles);
    this.borders(pen, camera, frame);
    pen.restore();
  }

  axis(pen, camera) {
    const { line, soft } = this.colours;
    const least = (camera.span * 110) / camera.width;
    const step = STEPS.find((it) => it >= least) || STEPS[STEPS.length - 1];
    const shift = isLocal() ? new Date(camera.from * 1000).getTimezoneOffset() * 60 : 0;
    pen.font = '12px system-ui, sans-serif';
    pen.textBaseline = 'middle';
    pen.lineWidth = 1;
    for (let at = Math.ceil((camera.from - shift) / step) * step + shift; at < camera.until; at += step) {
      const x = Math.round(camera.x(at)) + 0.5;
      pen.strokeStyle = line;
      pen.beginPath();
      pen.moveTo(x, AXIS - 6);
      pen.lineTo(x, AXIS + camera.height);
      pen.stroke();
      pen.fillStyle = soft;
      const text = told(at);
      const label = step >= 86400 ? text.slice(0, 10) : step < 60 ? text.slice(11, 19) : text.slice(11, 16);
      const day = step < 86400 && text.slice(11, 19) === '00:00:00' ? text.slice(5, 10) : label;
      pen.fillText(day, x + 3, AXIS / 2);
    }
  }

  rectangles(pen, camera, all) {
    const height = camera.rowHeight;
    const thin = height < 4;
    pen.font = '12px system-ui, sans-serif';
    pen.textBaseline = 'middle';
    for (let at = 0; at < all.row.length; at += 1) {
      const x0 = camera.x(all.start[at]);
      const x1 = camera.x(all.end[at]);
      const y = camera.y(all.row[at]);
      const tall = all.count[at] * height;
      if (x1 < 0 || x0 > camera.width || y + tall < 0 || y > camera.height) continue;
      const left = Math.max(x0, -2);
      const width = Math.max(Math.min(x1, camera.width + 2) - left, 1);
      const kind = all.kind[at] & 15;
      const mine = all.kind[at] & 16;
      pen.fillStyle = this.hatch[kind] || this.colours.kinds[kind];
      pen.fillRect(left, y, width, Math.max(tall, 1));
      if (thin || width < 3) continue;
      pen.strokeStyle = mine ? this.colours.accent : this.colours.edge;
      pen.lineWidth = mine ? 2 : 1;
      pen.strokeRect(left + 0.5, y + 0.5, width - 1, Math.max(tall - 1, 1));
      if (width >= LABEL && tall >= 14) this.label(pen, all, at, kind, left, y, width, tall);
    }
  }

  label(pen, all, at, kind, left, y, width, tall) {
    const text = `${KINDS[kind].glyph} ${all.labels[all.label[at]] || KINDS[kind].short}`;
    pen.save();
    pen.beginPath();
    pen.rect(left + 2, y, width - 4, tall);
    pen.clip();
    const length = Math.min(pen.measureText(text).width, width) + 6;
    pen.fillStyle = this.colours.paper;
    pen.globalAlpha = 0.85;
    pen.fillRect(left + 3, y + tall / 2 - 8, length, 16);
    pen.globalAlpha = 1;
    pen.fillStyle = this.colours.ink;
    pen.fillText(text, left + 6, y + tall / 2);
    pen.restore();
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

  coloured({ columns, groups, bytes }) {
    const image = new ImageData(columns, groups);
    const paper = rgb(this.colours.paper);
    const kinds = this.colours.kinds.map((css) => (css ? rgb(css) : paper));
    const alarm = new Set([9, 10]);
    for (let at = 0; at < columns * groups; at += 1) {
      const byte = parseInt(bytes.substr(at * 2, 2), 16);
      const kind = byte >> 4;
      // At least a third of the colour: what is there is seen.
      const part = byte === 0 ? 0 : alarm.has(kind) ? 1 : 0.35 + (0.65 * (byte & 15)) / 15;
      for (let channel = 0; channel < 3; channel += 1) {
        image.data[at * 4 + channel] = Math.round(paper[channel] + (kinds[kind][channel] - paper[channel]) * part);
      }
      image.data[at * 4 + 3] = 255;
    }
    const bitmap = new OffscreenCanvas(columns, groups);
    bitmap.getContext('2d').putImageData(image, 0, 0);
    return bitmap;
  }

  borders(pen, camera, frame) {
    pen.strokeStyle = this.colours.soft;
    pen.lineWidth = 1;
    for (const pool of frame.pools) {
      const y = Math.round(camera.y(pool.first)) + 0.5;
      pen.beginPath();
      pen.moveTo(0, y);
      pen.lineTo(camera.width, y);
      pen.stroke();
    }
  }

  /** What moves: the present, what the hand is on, what is chosen. */
  moving(camera, now, marks) {
    const pen = this.over.getContext('2d');
    pen.clearRect(0, 0, camera.width, camera.height + AXIS);
    pen.save();
    pen.translate(0, AXIS);
    pen.beginPath();
    pen.rect(0, 0, camera.width, camera.height);
    pen.clip();
    for (const { row, count, start, end, strong, dashed } of marks) {
      pen.setLineDash(dashed ? [6, 4] : []);
      const x0 = Math.max(camera.x(start), -4);
      const x1 = Math.min(camera.x(end), camera.width + 4);
      pen.strokeStyle = strong ? this.colours.bad : this.colours.accent;
      pen.lineWidth = 3;
      pen.strokeRect(x0, camera.y(row), Math.max(x1 - x0, 2), Math.max(count * camera.rowHeight, 2));
    }
    pen.restore();
    const x = camera.x(now);
    if (x < 0 || x > camera.width) return;
    pen.strokeStyle = this.colours.bad;
    pen.fillStyle = this.colours.bad;
    pen.lineWidth = 2;
    pen.beginPath();
    pen.moveTo(x, AXIS - 8);
    pen.lineTo(x, AXIS + camera.height);
    pen.stroke();
    pen.font = 'bold 11px system-ui, sans-serif';
    pen.textBaseline = 'bottom';
    pen.fillText('now', Math.min(x + 3, camera.width - 24), AXIS - 1);
  }
}
