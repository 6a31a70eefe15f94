// What every page has: the mood, and the clock on which times are told.

const root = document.documentElement;
const remembered = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
const remember = (name, value) => { try { localStorage.setItem(name, value); } catch { /* no store: for this page only */ } };

function themes() {
  const button = document.getElementById('theme');
  if (!button) return;
  const order = ['auto', 'light', 'dark'];
  const show = (theme) => {
    if (theme === 'auto') delete root.dataset.theme; else root.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
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
}

/** Times on the chosen clock, always with the zone. */
let local = remembered('clock') === 'local';
const pad = (number) => String(number).padStart(2, '0');
export function told(seconds) {
  const at = new Date(seconds * 1000);
  if (!local) return `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  const zone = Intl.DateTimeFormat('en', { timeZoneName: 'short' }).formatToParts(at).find((it) => it.type === 'timeZoneName');
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())} ${zone ? zone.value : 'local'}`;
}
export const isLocal = () => local;

export function tellTimes(within = document) {
  for (const element of within.querySelectorAll('time[datetime]')) {
    element.textContent = told(Date.parse(element.dateTime) / 1000);
  }
}

function clocks() {
  const button = document.getElementById('clock');
  if (!button) return;
  const show = () => {
    button.textContent = local ? 'Times: local' : 'Times: UTC';
    tellTimes();
    document.dispatchEvent(new CustomEvent('clock'));
  };
  button.hidden = false;
  button.addEventListener('click', () => { local = !local; remember('clock', local ? 'local' : 'utc'); show(); });
  show();
}

themes();
clocks();
