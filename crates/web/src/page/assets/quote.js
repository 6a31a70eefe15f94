// One choice in three places: the table, the curve and the timeline. And how long offers stand.

import { present } from './ages.js';
import { named } from './timeline/windows.js';
import { length } from './timeline/words.js';

// Looked for again each time: live updates put others in their place.
const rows = () => [...document.querySelectorAll('tr[data-window]')];
let picked = '';
const points = [...document.querySelectorAll('a[data-pick]')];
const button = document.getElementById('take');
const expired = document.getElementById('expired');
const pick = (key) => document.dispatchEvent(new CustomEvent('pick', { detail: key }));
const keys = (point) => point.dataset.pick.split(' ');
const radioOf = (row) => row.querySelector('input[type="radio"]');

/** What the button would do with this offer. */
function label(row, isOpen) {
  if (isOpen) return `Accept offer ${row.dataset.text}: ${row.dataset.cost} credits at most`;
  const why = 'dear' in row.dataset ? 'costs more than there is to spend' : 'has expired';
  return `Offer ${row.dataset.text} ${why}`;
}

function show(detail) {
  for (const row of rows()) {
    const own = row.dataset.window === detail;
    row.classList.toggle('picked', own);
    const radio = radioOf(row);
    if (!own || !radio) continue;
    for (const other of rows()) radioOf(other).checked = false;
    radio.checked = !radio.disabled;
    if (!button) continue;
    button.textContent = label(row, radio.checked);
    button.disabled = !radio.checked;
  }
  for (const point of points) {
    const own = keys(point).includes(detail);
    point.classList.toggle('picked', own);
    if (own) point.setAttribute('aria-current', 'true'); else point.removeAttribute('aria-current');
  }
}

document.addEventListener('pick', ({ detail }) => {
  picked = detail;
  show(detail);
  const url = new URL(location.href);
  url.hash = detail;
  history.replaceState(null, '', url);
});
document.addEventListener('refreshed', () => { if (picked) show(picked); });

for (const kind of ['click', 'change']) {
  document.addEventListener(kind, (event) => {
    const row = event.target.closest && event.target.closest('tr[data-window]');
    if (row && !event.target.closest('a')) pick(row.dataset.window);
  });
}

points.forEach((point, at) => {
  point.addEventListener('click', (event) => {
    event.preventDefault();
    pick(keys(point)[0]);
  });
  point.addEventListener('keydown', (event) => {
    const by = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    if (!by && event.key !== ' ') return;
    event.preventDefault();
    const next = points[(at + (by || 0) + points.length) % points.length];
    next.focus();
    pick(keys(next)[0]);
  });
});

/** What stands for how much longer. */
function count() {
  const now = present();
  let open = 0;
  const offers = document.querySelectorAll('[data-expires]');
  for (const offer of offers) {
    const rest = Number(offer.dataset.expires) - now;
    if (rest > 0) open += 1;
    offer.textContent = rest > 0 ? length(rest) : 'expired';
    offer.classList.toggle('short', rest < 60);
    const radio = radioOf(offer.closest('tr'));
    if (radio && rest <= 0) { radio.disabled = true; radio.checked = false; }
  }
  if (!offers.length) return;
  if (button) button.disabled = !rows().some((row) => radioOf(row).checked);
  if (expired) expired.hidden = open > 0;
}

const form = document.getElementById('ask');
/** What is longer in an address is left out of it: a reader who opens that is asked to fill it in. */
const LONGEST = 8000;

/** What was asked stands in the address, so that a reader who opens that sees what is available then. */
function remember() {
  if (!form || !('answered' in form.dataset)) return;
  const url = new URL(location.href);
  for (const name of ['name', 'nodes', 'time', 'budget', 'deadline', 'zone', 'site', 'script']) {
    const { value } = form.elements[name];
    const isSaid = value && encodeURIComponent(value).length < LONGEST && (name !== 'zone' || form.elements.deadline.value);
    if (isSaid) url.searchParams.set(name, value); else url.searchParams.delete(name);
  }
  history.replaceState(null, '', url);
}

remember();
count();
setInterval(count, 1000);
const wanted = named();
/** By what a window is best; two of different answers are the same choice if they share one. */
const criteria = (key) => key.replace(/^by-/, '').split('+');
const shares = (row) => criteria(row.dataset.window).some((it) => criteria(wanted).includes(it));
const first = rows().find((row) => row.dataset.window === wanted) || rows().find(shares) || (form && (rows().find((row) => !('dear' in row.dataset)) || rows()[0]));
if (first) pick(first.dataset.window);
