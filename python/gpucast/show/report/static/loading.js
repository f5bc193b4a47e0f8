// Files that are dropped on the page, and what is said while they are read and fitted.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const [form, files, status] = [byId("load"), byId("files"), byId("load-status")];
  const most = Number(form.dataset.most);
  let sent = false;

  function tooLarge() {
    const bytes = [...files.files].reduce((sum, file) => sum + file.size, 0);
    byId("files-wrong").textContent = bytes > most
      ? `larger than ${most / 2 ** 20} MiB together; choose fewer, or thin them out` : "";
    if (bytes > most) files.setAttribute("aria-invalid", "true");
    else files.removeAttribute("aria-invalid");
    return bytes > most;
  }

  files.addEventListener("change", tooLarge);
  form.addEventListener("submit", (event) => {
    if (sent || tooLarge()) {
      event.preventDefault();
      return;
    }
    sent = true;
    document.body.setAttribute("aria-busy", "true");
    status.textContent = "Reading and fitting; this takes some seconds.";
  });
  // A page that comes back from the browser's memory waits for nothing.
  addEventListener("pageshow", () => {
    sent = false;
    document.body.removeAttribute("aria-busy");
    status.textContent = "";
  });

  for (const name of ["dragenter", "dragover"]) {
    addEventListener(name, (event) => {
      if (!event.dataTransfer.types.includes("Files")) return;
      event.preventDefault();
      document.body.classList.add("dropping");
    });
  }
  addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) document.body.classList.remove("dropping");
  });
  addEventListener("drop", (event) => {
    document.body.classList.remove("dropping");
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    form.closest("details").open = true;
    files.files = event.dataTransfer.files;
    form.requestSubmit();
  });
})();
