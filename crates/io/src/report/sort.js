// Heads of the table become buttons that sort it. Without this, the table is in the order of the campaign.
for (const head of document.querySelectorAll("#metrics thead th")) {
  const button = document.createElement("button");
  button.type = "button";
  while (head.firstChild && head.firstChild.nodeName !== "SMALL") button.append(head.firstChild);
  head.prepend(button);
  button.addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const body = document.querySelector("#metrics tbody");
    const at = head.cellIndex;
    const number = head.classList.contains("number");
    const key = (row) => (number ? row.cells[at].dataset.key : row.cells[at].textContent);
    const compare = (a, b) => (number ? a - b : a.localeCompare(b, "en", { numeric: true }));
    const rows = [...body.rows].sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      // What has no value comes last either way.
      if (number && (x === "" || y === "")) return (x === "") - (y === "");
      return up ? compare(x, y) : compare(y, x);
    });
    body.append(...rows);
  });
}
