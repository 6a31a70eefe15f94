// Ctrl-K: every page, every job and what a page can do, by some letters of its name.

const PAUSE = 200;
const MOST = 8;

const make = (tag, attributes) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
};

const dialog = make('dialog', { class: 'palette', 'aria-label': 'Go to a page, a job or an action' });
const input = make('input', { type: 'search', role: 'combobox', placeholder: 'page, action, or name or number of a job',
  'aria-label': 'Page, action, or name or number of a job', 'aria-expanded': 'true', 'aria-controls': 'palette-list', autocomplete: 'off' });
const list = make('ul', { id: 'palette-list', role: 'listbox', 'aria-label': 'Found' });
dialog.append(input, list);

/** What is known without the market: a name, and an address or what is clicked. */
function known() {
  const pages = [...document.querySelectorAll('.top nav a, #help-link')].map((it) => ({ name: it.textContent, href: it.getAttribute('href') }));
  const buttons = [...document.querySelectorAll('#theme, #clock, #live')].filter((it) => !it.hidden)
    .map((it) => ({ name: it.title || it.textContent.trim(), click: it }));
  const acts = [...document.querySelectorAll('main button[name=act], main summary')]
    .filter((it) => it.textContent.trim()).map((it) => ({ name: `Here: ${it.textContent.trim()}`, focus: it }));
  return [...pages, { name: 'Sign out', focus: document.querySelector('.who form button') }, ...buttons, ...acts];
}

let found = [];
let at = 0;

function show() {
  list.replaceChildren(...found.map((it, place) => {
    const option = make('li', { role: 'option', id: `palette-${place}`, 'aria-selected': String(place === at) });
    option.textContent = it.name;
    option.addEventListener('click', () => go(it));
    return option;
  }));
  if (found.length) input.setAttribute('aria-activedescendant', `palette-${at}`); else input.removeAttribute('aria-activedescendant');
}

function go(it) {
  if (!it) return;
  dialog.close();
  if (it.href) location.assign(it.href);
  else if (it.click) it.click.click();
  // What changes something is pointed at, and not done.
  else { it.focus.scrollIntoView({ block: 'center' }); it.focus.focus(); }
}

let timer = 0;
let asked = 0;
/** Jobs whose name or number it is, as the list of jobs finds them. */
async function jobs(text) {
  asked += 1;
  const mine = asked;
  try {
    const page = await fetch(`/jobs?${new URLSearchParams({ show: 'all', arrays: 'each', find: text })}`);
    const fresh = new DOMParser().parseFromString(await page.text(), 'text/html');
    if (mine !== asked) return;
    const rows = [...fresh.querySelectorAll('table.jobs tbody tr')].slice(0, MOST);
    found = found.concat(rows.map((row) => {
      const [number, name] = row.querySelectorAll('a');
      return { name: `Job ${number.textContent}, ${name.textContent}: ${row.querySelector('.state').textContent}`, href: number.getAttribute('href') };
    }));
    show();
  } catch { /* the page says that the market is not reached */ }
}

function search() {
  const text = input.value.trim().toLowerCase();
  found = known().filter((it) => it.name.toLowerCase().includes(text));
  at = 0;
  show();
  clearTimeout(timer);
  asked += 1;
  if (text) timer = setTimeout(() => jobs(text), PAUSE);
}

input.addEventListener('input', search);
input.addEventListener('keydown', (event) => {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (by && found.length) { at = (at + by + found.length) % found.length; show(); event.preventDefault(); }
  if (event.key === 'Enter') { event.preventDefault(); go(found[at]); }
});
document.addEventListener('keydown', (event) => {
  if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  if (!dialog.isConnected) document.body.append(dialog);
  input.value = '';
  search();
  dialog.showModal();
});
