// One choice in three places: the table, the curve and the timeline. And how long offers stand.

import { length } from './timeline/words.js';

// Looked for anew each time: live updates put others in their place.
const rows = () => [...document.querySelectorAll('tr[data-window]')];
let picked = '';
const points = [...document.querySelectorAll('a[data-pick]')];
const button = document.getElementById('take');
const expired = document.getElementById('expired');
// The market's clock, not the browser's.
const ahead = Number(document.body.dataset.now) * 1000 - Date.now();
const pick = (key) => document.dispatchEvent(new CustomEvent('pick', { detail: key }));
const keys = (point) => point.dataset.pick.split(' ');

function show(detail) {
  for (const row of rows()) {
    const own = row.dataset.window === detail;
    row.classList.toggle('picked', own);
    const radio = row.querySelector('input[type="radio"]');
    if (own && radio && !radio.disabled) radio.checked = true;
    if (own && button) button.textContent = `Take offer ${row.dataset.text}: ${row.dataset.cost} credits at most`;
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
  const now = (Date.now() + ahead) / 1000;
  let open = 0;
  const offers = document.querySelectorAll('[data-expires]');
  for (const offer of offers) {
    const rest = Number(offer.dataset.expires) - now;
    if (rest > 0) open += 1;
    offer.textContent = rest > 0 ? length(rest) : 'expired';
    offer.classList.toggle('short', rest < 60);
    const radio = offer.closest('tr').querySelector('input[type="radio"]');
    if (radio && rest <= 0) { radio.disabled = true; radio.checked = false; }
  }
  if (!offers.length) return;
  if (button) button.disabled = open === 0;
  if (expired) expired.hidden = open > 0;
}

/** What was asked stands in the address, so that it can be asked again. */
function remember() {
  const form = document.getElementById('ask');
  if (!form || !rows().length) return;
  const url = new URL(location.href);
  for (const name of ['name', 'nodes', 'time', 'budget', 'deadline', 'zone', 'site', 'script']) {
    const { value } = form.elements[name];
    if (name === 'zone' && !form.elements.deadline.value) continue;
    if (value && value.length < 1500) url.searchParams.set(name, value);
  }
  history.replaceState(null, '', url);
}

remember();
count();
setInterval(count, 1000);
const named = decodeURIComponent(location.hash.slice(1));
const first = rows().find((row) => row.dataset.window === named) || (button && rows()[0]);
if (first) pick(first.dataset.window);
