/**
 * The parts of a tool's result as nodes: output, changes, lines of files, matches, links, lists, pictures. Every text becomes a text
 * node.
 */
import { h } from '../dom.js'
import { highlight } from '../highlight.js'
import { icon } from '../icons.js'
import { safeUrl } from '../links.js'
import { createProse } from '../prose.js'
import { createFilesView } from './files.js'

/** @typedef {import('../../protocol.ts').WireToolPart} Part */
/** @typedef {{ files: import('../files.js').Files, at: number }} Context */
/**
 * @template {Part['kind']} Kind
 * @typedef {Extract<Part, { kind: Kind }>} PartOf
 */

/** @param {Part} part @param {Context} context @returns {HTMLElement} */
export function renderPart(part, context) {
  switch (part.kind) {
    case 'command':
      return renderCommand(part)
    case 'lines':
      return renderLines(part)
    case 'diff':
      return renderDiff(part)
    case 'matches':
      return renderMatches(part)
    case 'files':
      return h('ul', { class: 'tool-files' }, ...part.files.map((file) => h('li', {}, ltr(file))))
    case 'links':
      return renderLinks(part)
    case 'todos':
      return renderTodos(part)
    case 'pictures':
      return renderPictures(part, context)
    case 'agents':
      return h('ul', { class: 'tool-agents' }, ...part.agents.map(renderAgent))
    case 'text':
      return renderText(part)
    case 'fields':
      return h(
        'dl',
        { class: 'tool-fields' },
        ...part.fields.flatMap(({ name, value }) => [h('dt', {}, name), h('dd', { dir: 'auto' }, value)]),
      )
    case 'error':
      return h(
        'div',
        { class: 'tool-error' },
        h('p', { dir: 'auto' }, part.text),
        ...(part.code === '' ? [] : [h('code', {}, part.code)]),
      )
    default:
      return h('p', { class: 'tool-note' }, 'This page is older than the gateway: load it again.')
  }
}

/** @param {PartOf<'command'>} part */
function renderCommand({ command, language, output, exitCode, state }) {
  const words = [state, exitCode === undefined ? '' : `exit code ${exitCode}`].filter((word) => word !== '')
  const isBad = state.startsWith('killed') || /error|time/.test(state) || (exitCode !== undefined && exitCode !== 0)
  return h(
    'div',
    { class: 'tool-command' },
    ...(command === ''
      ? []
      : [block(language === 'python' ? 'Script' : 'Command', highlight(command, language), 'prompt')]),
    ...(output === '' ? [] : [block('Output', [output], 'output')]),
    ...(words.length === 0 ? [] : [h('p', { class: 'tool-exit', 'data-bad': isBad }, words.join(', '))]),
  )
}

/**
 * A text with a button that copies it.
 *
 * @param {string} name
 * @param {readonly (Node | string)[]} content
 * @param {'prompt' | 'output'} kind a prompt has no heading
 */
function block(name, content, kind) {
  const copy = h('button', { class: 'small', type: 'button', 'data-copy': true }, icon('copy'), h('span', {}, 'Copy'))
  copy.append(h('span', { class: 'unseen' }, ` ${name.toLowerCase()}`))
  return h(
    'div',
    { class: `code tool-block ${kind}${kind === 'prompt' ? ' bare' : ''}` },
    h('div', { class: 'code-head' }, h('span', {}, kind === 'prompt' ? '' : name), copy),
    // Focusable, because it may scroll.
    h('pre', { tabindex: '0', role: 'group', 'aria-label': name, dir: 'ltr' }, h('code', {}, ...content)),
  )
}

/** Two texts instead of an element for each line: a file may have thousands. @param {PartOf<'lines'>} part */
function renderLines({ path, first, text }) {
  const count = text.split('\n').length
  const numbers = Array.from({ length: count }, (_, index) => first + index).join('\n')
  return sheet(
    path,
    '',
    h(
      'div',
      { class: 'tool-scroll tool-lines', tabindex: '0', role: 'group', 'aria-label': `Lines of ${path}`, dir: 'ltr' },
      h('pre', { class: 'gutter', 'aria-hidden': 'true' }, numbers),
      h('pre', {}, h('code', {}, text)),
    ),
  )
}

/** @param {PartOf<'diff'>} part */
function renderDiff({ path, added, removed, text }) {
  /** Lines of one kind become one element. @type {{ kind: string, lines: string[] }[]} */
  const runs = []
  for (const line of text.split('\n')) {
    const kind = kindOfLine(line)
    const last = runs.at(-1)
    if (last?.kind === kind) last.lines.push(line)
    else runs.push({ kind, lines: [line] })
  }
  const nodes = runs.map(({ kind, lines }) => h('div', { class: `diff-${kind}` }, lines.join('\n')))
  const head = [h('span', { class: 'diff-plus' }, `+${added}`), h('span', { class: 'diff-minus' }, `−${removed}`)]
  const name = `Changes of ${path}: ${added} added, ${removed} removed`
  const scroll = h('div', { class: 'tool-scroll', tabindex: '0', role: 'group', 'aria-label': name, dir: 'ltr' })
  scroll.append(h('pre', { class: 'tool-diff' }, ...nodes))
  return sheet(path, head, scroll)
}

/** @param {string} line */
function kindOfLine(line) {
  if (line.startsWith('+')) return 'added'
  if (line.startsWith('-')) return 'removed'
  return line.startsWith('@@') ? 'hunk' : 'same'
}

/** @param {PartOf<'matches'>} part */
function renderMatches({ path, lines, marks }) {
  const numbered = lines.map(({ line, text, isContext }) =>
    h(
      'li',
      { class: isContext === true ? 'context' : undefined },
      h('span', { class: 'number' }, line === 0 ? '' : String(line)),
      h('code', { dir: 'ltr' }, ...(isContext === true ? [text] : marked(text, marks))),
    ),
  )
  const found = lines.filter(({ isContext }) => isContext !== true).length
  const list = h('ol', { class: 'tool-matches' })
  list.append(...numbered)
  return sheet(path, found === 1 ? '1 match' : `${found} matches`, list)
}

/** @param {string} text @param {readonly string[]} marks */
function marked(text, marks) {
  const lower = text.toLowerCase()
  const wanted = marks.map((mark) => mark.toLowerCase())
  /** @type {(Node | string)[]} */
  const nodes = []
  let from = 0
  // The case of a few letters changes the length of a text.
  while (lower.length === text.length && from < text.length) {
    let at = -1
    let length = 0
    for (const mark of wanted) {
      const found = lower.indexOf(mark, from)
      if (found === -1 || (at !== -1 && (found > at || (found === at && mark.length <= length)))) continue
      at = found
      length = mark.length
    }
    if (at === -1) break
    if (at > from) nodes.push(text.slice(from, at))
    nodes.push(h('mark', {}, text.slice(at, at + length)))
    from = at + length
  }
  return [...nodes, text.slice(from)]
}

/** @param {PartOf<'links'>} part */
function renderLinks({ links }) {
  return h(
    'ol',
    { class: 'tool-links' },
    ...links.map(({ title, url, text }) => {
      const address = safeUrl(url)
      const link =
        address === null
          ? h('span', { class: 'title', dir: 'auto' }, title)
          : h('a', { class: 'title', href: address, target: '_blank', rel: 'noopener noreferrer', dir: 'auto' }, title)
      const host = address === null ? '' : new URL(address).hostname
      return h(
        'li',
        {},
        link,
        ...(host === '' ? [] : [h('span', { class: 'host' }, host)]),
        ...(text === '' ? [] : [h('p', { dir: 'auto' }, text)]),
      )
    }),
  )
}

/** @type {Record<PartOf<'todos'>['items'][number]['status'], string>} */
const todoWords = { pending: 'To do', in_progress: 'In progress', completed: 'Done', cancelled: 'Cancelled' }

/** @param {PartOf<'todos'>} part */
function renderTodos({ items }) {
  return h(
    'ul',
    { class: 'tool-todos' },
    ...items.map(({ content, status }) => {
      const sign = status === 'completed' ? [icon('check')] : status === 'cancelled' ? [icon('cross')] : []
      const box = h('span', { class: 'todo-box' }, ...sign, h('span', { class: 'unseen' }, `${todoWords[status]}: `))
      return h('li', { 'data-status': status }, box, h('span', { dir: 'auto' }, content))
    }),
  )
}

/** @param {PartOf<'pictures'>} part @param {Context} context */
function renderPictures({ pictures }, { files, at }) {
  const place = h('div', { class: 'files tool-pictures' })
  const shown = pictures.map(({ name }, index) => ({
    isPicture: true,
    otherwise: /** @type {const} */ ('document'),
    name: pictures.length === 1 ? 'Picture of the tool' : `Picture ${index + 1} of the tool`,
    bytes: undefined,
    path: name,
    local: undefined,
  }))
  createFilesView(place, { files }).update(shown, at)
  return place
}

/** @param {PartOf<'agents'>['agents'][number]} agent */
function renderAgent({ goal, status, text }) {
  const head = h(
    'p',
    { class: 'agent-head' },
    h('span', { class: 'agent-status', 'data-status': status }, status),
    h('span', { dir: 'auto' }, goal),
  )
  return h('li', {}, head, prose(text))
}

/** @param {PartOf<'text'>} part */
function renderText({ title, text, markdown }) {
  const body = markdown
    ? h(
        'div',
        { class: 'tool-scroll tool-prose', tabindex: '0', role: 'group', 'aria-label': title || 'Text' },
        prose(text),
      )
    : block(title || 'Text', [text], 'output')
  return title === '' ? body : sheet(title, '', body)
}

/** @param {string} text */
function prose(text) {
  const body = h('div', { class: 'prose', dir: 'auto' })
  createProse(body).update(text, true)
  return body
}

/**
 * A part with a heading, which can be closed.
 *
 * @param {string} title
 * @param {string | readonly Node[]} facts
 * @param {HTMLElement} body
 */
function sheet(title, facts, body) {
  const chevron = icon('chevron')
  chevron.classList.add('chevron')
  const about = h('span', { class: 'facts' }, ...(typeof facts === 'string' ? [facts] : facts))
  const head = h('summary', {}, chevron, h('span', { class: 'path' }, ltr(title)), about)
  return h('details', { class: 'tool-sheet', open: true }, head, body)
}

/** A name that its characters cannot turn around. @param {string} text */
function ltr(text) {
  return h('bdi', { dir: 'ltr' }, text)
}
