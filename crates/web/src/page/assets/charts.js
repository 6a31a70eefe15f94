// Charts are whole without this: it adds what one reads off them, by mouse, touch or keys.
//
// Every place where one may stop is a `rect.col` with its words in a `title`; the same words are in
// the table below the chart.

import { told } from './shell.js';

const tip = document.createElement('div');
tip.className = 'tip';
tip.hidden = true;
tip.setAttribute('aria-hidden', 'true');
const voice = document.createElement('p');
voice.className = 'sr';
voice.setAttribute('role', 'status');
document.body.append(tip, voice);

let chart = null;
let stop = -1;

const stops = (svg) => [...svg.querySelectorAll('rect.col')];

function words(column) {
  const title = column.querySelector('title');
  // The browser's own tip would cover ours.
  if (title) { column.dataset.words = title.textContent; title.remove(); }
  const parts = (column.dataset.words || '').split('; ');
  if (column.dataset.at) parts[0] = told(Number(column.dataset.at));
  return parts;
}

function show(svg, index, aloud) {
  const columns = stops(svg);
  const column = columns[index];
  if (!column) return hide();
  if (chart && chart !== svg) clear(chart);
  clear(svg);
  chart = svg;
  stop = index;
  column.classList.add('on');
  const parts = words(column);
  tip.replaceChildren(...parts.map((part, at) => {
    const line = document.createElement(at === 0 ? 'strong' : 'span');
    line.textContent = part;
    return line;
  }));
  tip.hidden = false;
  const box = column.getBoundingClientRect();
  const left = box.left + box.width / 2 + window.scrollX;
  const wide = tip.offsetWidth;
  const most = document.documentElement.clientWidth - wide - 8;
  const beside = left + 14 > most ? left - wide - 14 : left + 14;
  tip.style.left = `${Math.max(8, Math.min(beside, most))}px`;
  tip.style.top = `${box.top + window.scrollY + 6}px`;
  if (aloud) voice.textContent = parts.join('; ');
}

function clear(svg) {
  for (const column of svg.querySelectorAll('rect.col.on')) column.classList.remove('on');
}

function hide() {
  if (chart) clear(chart);
  chart = null;
  stop = -1;
  tip.hidden = true;
}

const within = (target) => (target instanceof Element ? target.closest('svg.chart') : null);

document.addEventListener('pointermove', (event) => {
  const svg = within(event.target);
  if (!svg || !svg.querySelector('rect.col')) {
    if (chart && document.activeElement !== chart) hide();
    return;
  }
  const index = stops(svg).findIndex((column) => {
    const box = column.getBoundingClientRect();
    return event.clientX >= box.left && event.clientX < box.right;
  });
  if (index >= 0 && (svg !== chart || index !== stop)) show(svg, index, false);
});

document.addEventListener('keydown', (event) => {
  const svg = within(document.activeElement);
  if (!svg) return;
  const last = stops(svg).length - 1;
  const from = svg === chart ? stop : last + 1;
  const to = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: last }[event.key];
  if (event.key === 'Escape') { hide(); return; }
  if (to === undefined || last < 0) return;
  event.preventDefault();
  show(svg, Math.max(0, Math.min(last, to)), true);
});

document.addEventListener('focusout', (event) => { if (event.target === chart) hide(); });
document.addEventListener('refreshed', () => { if (chart && !chart.isConnected) hide(); });
