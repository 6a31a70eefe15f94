// What every page has: the theme, and the clock on which times are shown.

const root = document.documentElement;
const remembered = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
const remember = (name, value) => { try { localStorage.setItem(name, value); } catch { /* no store: for this page only */ } };

function themes() {
  const button = document.getElementById('theme');
  if (!button) return;
  const order = ['auto', 'light', 'dark'];
  const show = (theme) => {
    if (theme === 'auto') delete root.dataset.theme; else root.dataset.theme = theme;
    button.lastElementChild.textContent = theme;
    document.dispatchEvent(new CustomEvent('theme'));
  };
  let theme = order.includes(remembered('theme')) ? remembered('theme') : 'auto';
  button.hidden = false;
  button.addEventListener('click', () => {
    theme = order[(order.indexOf(theme) + 1) % order.length];
    remember('theme', theme);
    show(theme);
  });
  show(theme);
  // What is drawn by scripts follows the system at once.
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    if (theme === 'auto') document.dispatchEvent(new CustomEvent('theme'));
  });
}

// The clocks: UTC, the market's own if it has one, and this browser's.
const market = document.body?.dataset.zone || '';
const here = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';
const clocks = [['utc', 'UTC'], ...(market && market !== 'UTC' ? [['market', market]] : []), ['local', here]];
// A link may say which one; else it is what was chosen last.
const asked = new URLSearchParams(location.search).get('clock');
let clock = clocks.some(([name]) => name === asked) ? asked : remembered('clock');
if (!clocks.some(([name]) => name === clock)) clock = 'utc';
const zone = () => clocks.find(([name]) => name === clock)[1];

/** Times on the chosen clock, always with the zone. */
const formats = new Map();
function parts(seconds) {
  const name = zone();
  if (!formats.has(name)) {
    formats.set(name, new Intl.DateTimeFormat('en-GB', { timeZone: name, hourCycle: 'h23', timeZoneName: 'short',
      year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit' }));
  }
  return Object.fromEntries(formats.get(name).formatToParts(new Date(seconds * 1000)).map((it) => [it.type, it.value]));
}
export function told(seconds) {
  if (clock === 'utc') return `${new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  const it = parts(seconds);
  return `${it.year}-${it.month}-${it.day} ${it.hour}:${it.minute}:${it.second} ${it.timeZoneName}`;
}
export const isLocal = () => clock === 'local';

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
/** The day of a whole moment, as people write it. */
const dated = (whole) => `${Number(whole.slice(8, 10))} ${MONTHS[Number(whole.slice(5, 7)) - 1]}`;
/** Short, as the server writes it: the time of day, and the date if that is another day. */
export function short(seconds) {
  const [whole, today] = [told(seconds), told(Date.now() / 1000)];
  const time = whole.slice(11, 16);
  if (whole.slice(0, 10) === today.slice(0, 10)) return time;
  return whole.slice(0, 4) === today.slice(0, 4) ? `${dated(whole)} ${time}` : `${dated(whole)} ${whole.slice(0, 4)} ${time}`;
}
const MOMENTS = {
  full: told,
  exact: (seconds) => short(seconds) + told(seconds).slice(16, 19),
  day: (seconds) => `${dated(told(seconds))} ${told(seconds).slice(0, 4)}`,
};
/** What the clock is called. */
export const clockName = () => (clock === 'utc' ? 'UTC' : zone());

/** How moments are shown in pictures. */
const FORMS = {
  date: (it) => `${it.year}-${it.month}-${it.day}`,
  day: (it) => `${it.month}-${it.day}`,
  hour: (it) => `${it.hour}:${it.minute}`,
  second: (it) => `${it.hour}:${it.minute}:${it.second}`,
};

export function tellTimes(within = document) {
  for (const element of within.querySelectorAll('time[datetime]')) {
    const at = Date.parse(element.dateTime) / 1000;
    const text = (MOMENTS[element.dataset.form] || short)(at);
    if (element.textContent !== text) element.textContent = text;
    element.title = told(at);
  }
  for (const element of within.querySelectorAll('text[data-at]')) {
    const it = parts(Number(element.dataset.at));
    element.textContent = FORMS[element.dataset.form](it);
  }
  // Points of pictures: what is read aloud, and what the tooltip shows.
  for (const element of within.querySelectorAll('a[data-finish]')) {
    const words = element.dataset.words + told(Number(element.dataset.finish));
    element.setAttribute('aria-label', words);
    element.querySelector('title').textContent = words;
  }
  const name = clockName();
  for (const element of within.querySelectorAll('[data-zone]:not(body), text.zone')) element.textContent = name;
  // What is filled in is on the same clock; the server gets its name.
  for (const element of within.querySelectorAll('input[type="hidden"][name="zone"]')) {
    const filled = [...(element.form?.querySelectorAll('input.moment') ?? [])].some((it) => it.value);
    // Times that came with the address stay on the clock that they were given on.
    if (!filled || element.dataset.own) { element.value = clock === 'utc' ? '' : zone(); element.dataset.own = 'true'; } else {
      const label = element.value || 'UTC';
      for (const it of element.form.querySelectorAll('[data-zone]')) it.textContent = label;
    }
  }
}

function clockButton() {
  const button = document.getElementById('clock');
  if (!button) return;
  const show = () => {
    button.lastElementChild.textContent = clock === 'utc' ? 'UTC' : zone();
    tellTimes();
    document.dispatchEvent(new CustomEvent('clock'));
  };
  button.hidden = false;
  button.addEventListener('click', () => {
    clock = clocks[(clocks.findIndex(([name]) => name === clock) + 1) % clocks.length][0];
    remember('clock', clock);
    const address = new URL(location.href);
    if (clock === 'utc') address.searchParams.delete('clock'); else address.searchParams.set('clock', clock);
    history.replaceState(history.state, '', address);
    show();
  });
  show();
}

themes();
clockButton();
