// Several jobs of the list: all of them are chosen at once, and it is said how many are chosen.

const boxes = () => [...document.querySelectorAll('td.pick input')];

function tell() {
  const all = boxes();
  const chosen = all.filter((it) => it.checked).length;
  const head = document.getElementById('choose-all');
  if (!head) return;
  head.hidden = all.length === 0;
  head.checked = chosen > 0 && chosen === all.length;
  head.indeterminate = chosen > 0 && chosen < all.length;
  const count = document.getElementById('chosen-count');
  if (count) count.textContent = chosen ? `${chosen} of ${all.length} rows chosen:` : 'Choose rows to change their jobs:';
  for (const button of document.querySelectorAll('#bulk button')) button.disabled = chosen === 0;
}

document.addEventListener('change', ({ target }) => {
  if (target.id === 'choose-all') for (const it of boxes()) it.checked = target.checked;
  if (target.closest('.pick')) tell();
});
document.addEventListener('refreshed', tell);
// A browser that goes back fills in the boxes by itself.
addEventListener('pageshow', tell);
tell();
