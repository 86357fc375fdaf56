"""The look of the studio: one accent, a palette that colour-blind people can tell apart, contrast of WCAG AA."""

from __future__ import annotations

ACCENT = "#0b5c99"
GOOD = "#00694e"
BAD = "#a63a00"
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5b5b5b")
"""After Okabe and Ito, Color Universal Design, 2008."""
RAMP = ("#fde8d2", "#f6c89f", "#c9c3d6", "#8fb4d9", "#4f8fc4", "#0b5c99")
"""From much lost to little lost; it grows darker as well, so that no hue is needed to read it."""

CSS = """
:root { --accent: #0b5c99; --accent-dark: #084672; --soft: #e8f1f8; --ink: #1d2733; --quiet: #53606e; --line: #d5dce3;
        --ground: #f5f7f9; --good: #00694e; --good-soft: #e3f3ee; --bad: #a63a00; --bad-soft: #fdeee4;
        --note-soft: #fff7e0; --note: #6b4e00; }
html, body { background: var(--ground); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
.nicegui-content { display: block; padding: 0; width: 100%; max-width: none; }
.skip { position: absolute; left: -999px; top: 8px; z-index: 99; background: #fff; padding: 8px 14px;
  color: var(--accent); }
.skip:focus { left: 8px; }
.shell { display: grid; grid-template-columns: 208px minmax(0, 1fr); min-height: 100vh; }
.side { background: #fff; border-right: 1px solid var(--line); padding: 20px 12px; position: sticky; top: 0;
  height: 100vh; overflow-y: auto; }
.brand { font-weight: 650; font-size: 17px; letter-spacing: .01em; padding: 0 10px 2px; color: var(--ink); }
.brand small { display: block; font-weight: 400; font-size: 12.5px; color: var(--quiet); overflow: hidden;
  text-overflow: ellipsis; white-space: nowrap; }
.side ol { list-style: none; margin: 16px 0 0; padding: 0; }
.side a { display: flex; gap: 10px; align-items: center; padding: 7px 10px; border-radius: 7px; color: var(--ink);
  text-decoration: none; margin-bottom: 2px; }
.side a:hover { background: var(--ground); }
.side a[aria-current=page] { background: var(--soft); color: var(--accent-dark); font-weight: 600; }
.side .mark { width: 20px; height: 20px; border-radius: 50%; border: 1.5px solid #9aa7b3; font-size: 11px; flex: none;
  display: grid; place-items: center; color: var(--quiet); font-weight: 600; }
.side .mark.done { background: var(--good); border-color: var(--good); color: #fff; }
.page { padding: 26px 34px 60px; max-width: 1240px; min-width: 0; }
.page:focus { outline: none; }
.page h1 { font-size: 24px; line-height: 1.25; font-weight: 650; margin: 0 0 4px; }
.page h2 { font-size: 16.5px; line-height: 1.3; font-weight: 650; margin: 0 0 10px; }
.page h3 { font-size: 14px; line-height: 1.3; font-weight: 650; margin: 14px 0 6px; }
.lead { color: var(--quiet); margin: 0 0 20px; max-width: 900px; }
.card { background: #fff; border: 1px solid var(--line); border-radius: 10px; padding: 18px 20px; margin-bottom: 18px; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(270px, 1fr)); gap: 18px; align-items: stretch; }
.cards > .card { margin-bottom: 0; }
.cards { margin-bottom: 18px; }
.two { display: grid; grid-template-columns: minmax(0, 5fr) minmax(0, 7fr); gap: 18px; align-items: start; }
.halves { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 18px; align-items: start; }
.row-line { display: flex; gap: 12px; align-items: flex-end; flex-wrap: wrap; }
.inline { display: inline; }
.at-bottom { position: sticky; bottom: 0; background: var(--ground); padding: 12px 0; z-index: 3; }
.row-line.middle { align-items: center; }
.told + .figures, .spread + .told { margin-top: 14px; }
.legend { display: grid; grid-template-columns: repeat(auto-fit, minmax(190px, 1fr)); gap: 4px 22px; margin: 0 0 16px;
  font-size: 13.5px; } .legend dt { font-weight: 600; } .legend dd { margin: 0; color: var(--quiet); }
.legend dt { padding: 0 8px; border-radius: 5px; display: inline-block; }
.role-identifier { --role: #4a5560; --role-soft: #eceff2; } .role-quasi { --role: #0b5c99; --role-soft: #e8f1f8; }
.role-sensitive { --role: #a63a00; --role-soft: #fdeee4; } .role-other { --role: #00694e; --role-soft: #e3f3ee; }
.role-drop { --role: #5c4a00; --role-soft: #f6f1de; }
.legend dt, table select.control[class*=role-] { background: var(--role-soft); color: var(--role); font-weight: 600; }
table select.control[class*=role-] { border-color: var(--role); }
table.grid tr[class*=role-] > td:first-child { border-left: 4px solid var(--role) !important;
  padding-left: 10px !important; }
.together { border: 1px solid var(--line); border-radius: 8px; padding: 10px 12px; margin-bottom: 14px; }
.small-picture { display: inline-block; margin-right: 10px; font-size: 11.5px; line-height: 1.2; }
.small-picture > span { display: block; } td.values { white-space: nowrap; }
.spread { display: flex; justify-content: space-between; gap: 14px; align-items: center; flex-wrap: wrap; }
.quiet { color: var(--quiet); }
.small { font-size: 13px; }
.field { display: inline-flex; flex-direction: column; gap: 4px; font-size: 13px; font-weight: 550; color: var(--ink); }
.field { max-width: 100%; } .field select { max-width: 100%; }
.field.wide { display: flex; flex: 1; min-width: 150px; }
.field .hint { font-weight: 400; color: var(--quiet); }
fieldset.plain { border: 0; padding: 0; margin: 0; min-width: 0; }
.check { display: inline-flex; gap: 8px; align-items: center; font-size: 14px; margin-right: 16px; }
.check input { width: 17px; height: 17px; accent-color: var(--accent); }
input.control, select.control, textarea.control { font: inherit; font-size: 14.5px; font-weight: 400; color: var(--ink);
  background: #fff; border: 1px solid #8b98a5; border-radius: 7px; padding: 6px 10px; min-height: 36px; }
input.control.short { width: 92px; } table select.control, table input.control { min-height: 32px; padding: 3px 8px; }
textarea.control { font-family: ui-monospace, "Cascadia Mono", "DejaVu Sans Mono", monospace; font-size: 13px;
  line-height: 1.45; width: 100%; min-height: 190px; resize: vertical; }
input[type=range] { accent-color: var(--accent); width: 100%; }
.button { font: inherit; font-weight: 600; font-size: 14.5px; border-radius: 7px; padding: 7px 16px; min-height: 36px;
  cursor: pointer; border: 1px solid var(--accent); color: var(--accent-dark); background: #fff; text-decoration: none;
  display: inline-flex; align-items: center; white-space: nowrap; }
.button:hover { background: var(--soft); }
.button.primary { background: var(--accent); color: #fff; } .button.primary:hover { background: var(--accent-dark); }
.button.plain { border-color: transparent; } .button.slim { min-height: 28px; padding: 2px 10px; font-size: 13px; }
.button:disabled { opacity: .5; cursor: default; }
a.link { color: var(--accent-dark); text-decoration: underline; text-underline-offset: 2px; }
:is(a, button, input, select, textarea, summary, [tabindex]):focus-visible { outline: 3px solid #e69f00;
  outline-offset: 2px; }
.scroll { overflow-x: auto; } .scroll.tall { max-height: 430px; overflow-y: auto; }
table.grid { border-collapse: collapse; width: 100%; font-size: 13.5px; }
table.grid th { text-align: left; font-weight: 600; color: var(--quiet); border-bottom: 1.5px solid var(--line);
  padding: 6px 12px 6px 0; white-space: nowrap; position: sticky; top: 0; background: #fff; }
table.grid td { border-bottom: 1px solid #e8ecf0; padding: 6px 12px 6px 0; vertical-align: middle; }
table.grid tbody th { border-bottom: 1px solid #e8ecf0; color: var(--ink); position: static; }
table.grid .number { text-align: right; font-variant-numeric: tabular-nums; }
table.grid tr.best td, table.grid tr.chosen td { background: var(--soft); }
table.grid td.cell { white-space: nowrap; } table.grid td.changed { color: var(--accent-dark); font-weight: 550; }
table.grid td.missing { color: var(--quiet); font-style: italic; }
.bar { display: inline-block; height: 10px; border-radius: 3px; vertical-align: middle; margin-right: 8px;
  border: 1px solid #5d6b78; }
.figures { display: flex; flex-wrap: wrap; gap: 12px 34px; margin: 4px 0; }
.figure b { display: block; font-size: 22px; line-height: 1.2; font-weight: 650; font-variant-numeric: tabular-nums; }
.figure span { color: var(--quiet); font-size: 13px; }
.told { border-left: 4px solid; border-radius: 6px; padding: 10px 14px; margin: 0 0 16px; white-space: pre-line;
  overflow-wrap: anywhere; }
.told.bad { background: var(--bad-soft); border-color: var(--bad); color: #6e2600; }
.told.good { background: var(--good-soft); border-color: var(--good); color: #004735; }
.told.note { background: var(--note-soft); border-color: #c18a00; color: var(--note); }
.running { position: sticky; top: 12px; z-index: 5; background: #fff; border: 1px solid var(--accent);
  border-radius: 10px; padding: 12px 16px; margin-bottom: 16px; display: flex; gap: 16px; align-items: center;
  box-shadow: 0 4px 18px rgb(20 40 60 / .12); }
.running progress { flex: 1; height: 10px; accent-color: var(--accent); }
.drop { border: 1.5px dashed #8b98a5; border-radius: 9px; padding: 18px; text-align: center; display: block;
  color: var(--quiet); cursor: pointer; background: #fbfcfd; }
.drop:hover, .drop:focus-within { border-color: var(--accent); background: var(--soft); }
.drop input { display: block; margin: 10px auto 0; max-width: 100%; font-size: 13px; }
.drop input::file-selector-button { font: inherit; font-weight: 600; color: var(--accent-dark); background: #fff;
  border: 1px solid var(--accent); border-radius: 7px; padding: 3px 12px; margin-right: 10px; cursor: pointer; }
summary { display: list-item; cursor: pointer; font-size: 14px; color: var(--accent-dark); }
pre.code { background: #f1f4f7; border: 1px solid var(--line); border-radius: 8px; padding: 12px 14px; margin: 0 0 12px;
  overflow-x: auto; font: 12.5px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; color: var(--ink); white-space: pre; }
.tabs { display: flex; gap: 6px; flex-wrap: wrap; margin-bottom: 16px; }
.tabs a { border: 1px solid var(--line); background: #fff; border-radius: 999px; padding: 4px 14px; color: var(--ink);
  text-decoration: none; font-size: 14px; }
.tabs a[aria-current=page] { background: var(--accent); border-color: var(--accent); color: #fff; font-weight: 600; }
ul.checks { list-style: none; margin: 0; padding: 0; } ul.checks li { padding: 3px 0 3px 26px; position: relative; }
ul.checks li::before { position: absolute; left: 2px; font-weight: 700; }
ul.checks li.pass::before { content: "✓"; color: var(--good); }
ul.checks li.fail::before { content: "✕"; color: var(--bad); }
ul.tree { list-style: none; margin: 0; padding: 0 0 0 18px; border-left: 1.5px solid var(--line); }
ul.tree.root { border: 0; padding: 0; }
ul.tree li { margin: 3px 0; }
.twig { display: inline-flex; align-items: center; gap: 8px; border: 1px solid var(--line); border-radius: 7px;
  background: #fff; padding: 2px 10px; font-size: 13.5px; cursor: grab; }
.twig.label { background: var(--soft); border-color: #b6cfe3; font-weight: 600; }
.twig.over { outline: 2px dashed var(--accent); }
.if-narrow { display: none; }
.picture { width: 100%; } .picture svg { max-width: 100%; height: auto; }
@media (max-width: 900px) {
  .shell { display: block; }
  .side { position: static; height: auto; border-right: 0; border-bottom: 1px solid var(--line); padding: 10px 14px; }
  .brand { padding: 0 4px; } .brand small { display: inline; margin-left: 10px; }
  .side ol { display: flex; flex-wrap: wrap; gap: 2px 4px; margin: 8px 0 0; }
  .side a { padding: 3px 8px; gap: 6px; margin: 0; font-size: 14px; }
  .page { padding: 18px 20px 40px; }
  .two, .halves { grid-template-columns: minmax(0, 1fr); }
  table.narrow, table.narrow tbody { display: block; } table.narrow thead { display: none; }
  table.narrow tr { display: flex; flex-wrap: wrap; gap: 6px 14px; align-items: center; padding: 10px 0;
    border-bottom: 1px solid var(--line); }
  table.narrow :is(th, td) { border: 0 !important; padding: 0 !important; }
  table.narrow tbody th { flex: 1 1 calc(100% - 80px); white-space: normal; overflow-wrap: anywhere; }
  table.narrow td[data-head]::before { content: attr(data-head) " "; color: var(--quiet); font-size: 12.5px; }
  table.narrow td.whole { flex-basis: 100%; }
  table.narrow td:is(:empty, .blank) { display: none; }
}
@media (max-width: 560px) {
  .page { padding: 14px 12px 32px; }
  .card { padding: 14px 14px; }
  .cards { grid-template-columns: minmax(0, 1fr); }
  .field, .field select, .field input.control { width: 100%; } .field input.control.short { width: 100%; }
  .field.wide { flex-basis: 100%; }
  .button { white-space: normal; }
  .figures { gap: 10px 22px; } .figure b { font-size: 19px; }
  .running { left: 8px; right: 8px; }
  .check { margin: 3px 12px 3px 0; }
  .if-wide { display: none; } .if-narrow { display: block; }
  .legend div { display: flex; gap: 8px; } .legend dt { min-width: 76px; }
}
.visually-hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
@media (prefers-reduced-motion: no-preference) { .side a, .button { transition: background .12s; } }
"""

SCRIPT = """
async function studioUpload(file, done) {
  if (!file) return;
  try {
    const place = '/upload?name=' + encodeURIComponent(file.name);
    const answer = await fetch(place, {method: 'POST', body: file});
    done(answer.ok ? await answer.json() : {error: 'the upload failed with status ' + answer.status});
  } catch (error) { done({error: 'the upload failed: ' + error.message}); }
}
"""
