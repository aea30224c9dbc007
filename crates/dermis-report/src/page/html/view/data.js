// What a page's scripts read. Names come from files: what could end a line or reorder what stands beside a name is shown as a mark.

const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
/// A text as it is safe to show.
const safeText = (text) => text.replace(UNSAFE, (c) => ("\t\n\r".includes(c) ? " " : "\ufffd"));
/// The JSON in the element of this id, its texts safe to show.
const pageData = (id) => JSON.parse(document.getElementById(id).textContent, (_, value) => (typeof value === "string" ? safeText(value) : value));

