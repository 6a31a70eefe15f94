// The help page as a panel over the page that one is on; without scripts it is a page.

const link = document.getElementById('help-link');
let panel = null;

async function open() {
  const answer = await fetch(link.href);
  if (!answer.ok || answer.redirected) { location.assign(link.href); return; }
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  panel = document.createElement('dialog');
  panel.className = 'panel';
  panel.setAttribute('aria-label', 'Help');
  const form = document.createElement('form');
  form.method = 'dialog';
  const find = document.createElement('input');
  find.type = 'search';
  find.placeholder = 'find a term';
  find.setAttribute('aria-label', 'Find a term');
  const close = document.createElement('button');
  close.textContent = 'Close';
  form.className = 'row';
  form.append(find, close);
  panel.append(form, page.getElementById('help'));
  find.addEventListener('input', () => search(find.value.trim().toLowerCase()));
  find.addEventListener('keydown', (event) => { if (event.key === 'Enter') event.preventDefault(); });
  document.body.append(panel);
  panel.showModal();
}

/** Shows the terms in which the text stands; all of them without one. */
function search(text) {
  for (const part of panel.querySelectorAll('details')) {
    let seen = 0;
    for (const term of part.querySelectorAll('dt')) {
      const meaning = term.nextElementSibling;
      const fits = !text || term.textContent.toLowerCase().includes(text);
      term.hidden = meaning.hidden = !fits;
      seen += fits ? 1 : 0;
    }
    part.hidden = seen === 0;
    if (text) part.open = true;
  }
}

link?.addEventListener('click', (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey || location.pathname === '/help') return;
  event.preventDefault();
  if (panel) panel.showModal(); else open();
});
