/**
 * Shortens the accessibility tree that Playwright writes for models: only the elements that matter keep a ref, boxes without a
 * name disappear, and a long tree is cut at a line.
 */
import type { PageSnapshot } from './contract.ts'

/** Characters of one snapshot. Hermes has the same limit. */
const maxChars = 15_000
const maxLineChars = 400

/** Roles with which a person can do something. */
const interactiveRoles: ReadonlySet<string> = new Set([
  ...['button', 'checkbox', 'combobox', 'gridcell', 'link', 'listbox', 'menuitem', 'menuitemcheckbox'],
  ...['menuitemradio', 'option', 'radio', 'scrollbar', 'searchbox', 'slider', 'spinbutton', 'switch', 'tab'],
  ...['textbox', 'treeitem'],
])
/** Roles that say where one is. A compact snapshot has them, too. */
const landmarkRoles: ReadonlySet<string> = new Set([
  ...['alert', 'alertdialog', 'dialog', 'form', 'heading', 'iframe', 'status', 'navigation', 'main', 'search'],
])

/** `  - link "Home" [ref=e3] [cursor=pointer]:`, also within single quotes. */
const node = /^( *)- '?([a-z]+)( "(?:[^"\\]|\\.)*"| \/(?:[^/\\]|\\.)*\/)?((?: \[[^\]]*\])*)('?(?:: ?|$).*)$/
const refPattern = / \[ref=((?:f\d+)?e\d+)\]/
const shownAttributes = /\[(?:checked|disabled|expanded|level|pressed|selected)[^\]]*\]/g

export interface SnapshotOptions {
  /** All text, and not only what can be used. */
  readonly full: boolean
  readonly offset: number
}

/** `prefix`: that of the refs of the main frame. Models are not shown it. */
export interface ShortSnapshot extends PageSnapshot {
  readonly prefix: string
}

/** @param tree of `page.ariaSnapshot({ mode: 'ai' })` */
export function shortenSnapshot(tree: string, { full, offset }: SnapshotOptions): ShortSnapshot {
  const [, first = ''] = refPattern.exec(tree) ?? []
  const prefix = /^f\d+/.exec(first)?.[0] ?? ''
  const lines: string[] = []
  /** The indentation of the open lines, and whether each was kept. */
  const open: { readonly indent: number; readonly depth: number }[] = []
  let elements = 0
  for (const line of tree.split('\n')) {
    const indent = line.length - line.trimStart().length
    while ((open.at(-1)?.indent ?? -1) >= indent) open.pop()
    const depth = open.at(-1)?.depth ?? 0
    const shown = shortenLine(line, prefix, full)
    if (shown === undefined) {
      open.push({ indent, depth })
      continue
    }
    if (shown.hasRef) elements += 1
    lines.push(`${'  '.repeat(depth)}- ${shown.text}`)
    open.push({ indent, depth: depth + 1 })
  }
  return { prefix, elements, ...cut(lines, offset) }
}

/** Undefined for a line that is left out. */
function shortenLine(
  line: string,
  prefix: string,
  full: boolean,
): { readonly text: string; readonly hasRef: boolean } | undefined {
  const [, , role, name = '', attributes = '', rest = ''] = node.exec(line) ?? []
  // A text, or a property such as `/url`.
  if (role === undefined || role === 'text') {
    const text = line.trim().replace(/^- /, '')
    return full && text !== '' ? { text: shorten(text), hasRef: false } : undefined
  }
  const content = rest.replace(/^'?:? ?/, '').replace(/'$/, '')
  const isInteractive = interactiveRoles.has(role) || attributes.includes('[cursor=pointer]')
  const isKept = full
    ? isInteractive || name !== '' || content !== '' || role !== 'generic'
    : isInteractive || landmarkRoles.has(role)
  if (!isKept) return undefined
  const [, ref] = refPattern.exec(attributes) ?? []
  const hasRef = isInteractive && ref !== undefined
  const states = (attributes.match(shownAttributes) ?? []).map((state) => ` ${state}`).join('')
  const shownRef = hasRef ? ` [@${ref.startsWith(`${prefix}e`) ? ref.slice(prefix.length) : ref}]` : ''
  return {
    text: `${shorten(`${role}${name}`)}${states}${shownRef}${content === '' ? '' : `: ${shorten(content)}`}`,
    hasRef,
  }
}

function shorten(text: string): string {
  return text.length <= maxLineChars ? text : `${text.slice(0, maxLineChars)} ...`
}

function cut(lines: readonly string[], offset: number): Pick<PageSnapshot, 'snapshot' | 'more'> {
  const whole = lines.join('\n')
  const begun = whole.slice(offset)
  if (begun.length <= maxChars) return { snapshot: begun }
  const end = begun.lastIndexOf('\n', maxChars)
  const snapshot = begun.slice(0, end <= 0 ? maxChars : end)
  const next = offset + snapshot.length + 1
  return {
    snapshot,
    more: `${whole.length - next} more characters. browser_snapshot with offset ${next} continues.`,
  }
}

/** The name by which Playwright finds an element of the last snapshot. Undefined for a text that is no ref. */
export function toPlaywrightRef(ref: string, prefix: string): string | undefined {
  const [, name] =
    /^@?((?:f\d+)?e\d+)$/.exec(
      ref
        .trim()
        .replace(/^\[|\]$/g, '')
        .replace(/^ref=/, ''),
    ) ?? []
  if (name === undefined) return undefined
  return name.startsWith('f') ? name : `${prefix}${name}`
}
