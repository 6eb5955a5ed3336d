/**
 * Parses a patch in the V4A format: `*** Begin Patch`, one section for each file, `*** End Patch`. Models know this format; so
 * small deviations that change no meaning are accepted, as Hermes Agent does (`patch_parser.py`).
 */

export type PatchSection =
  | { readonly kind: 'add'; readonly path: string; readonly line: number; readonly lines: readonly string[] }
  | { readonly kind: 'delete'; readonly path: string; readonly line: number }
  | {
      readonly kind: 'update'
      readonly path: string
      readonly line: number
      /** The new name of the file; '' keeps it. */
      readonly moveTo: string
      /** May be empty when the file is moved. */
      readonly hunks: readonly Hunk[]
    }

/** Lines that are replaced by others, with the unchanged lines around them. */
export interface Hunk {
  /** Line in the patch, from 1. */
  readonly line: number
  /** Texts of `@@` lines: the change is after the line that contains the first, then the second … */
  readonly anchors: readonly string[]
  readonly lines: readonly HunkLine[]
  /** `*** End of File`: the lines are the last ones of the file. */
  readonly atEnd: boolean
}

export interface HunkLine {
  readonly kind: 'context' | 'removed' | 'added'
  readonly text: string
}

export type ParsedPatch =
  | { readonly ok: true; readonly sections: readonly PatchSection[] }
  /** `line` of the patch, from 1. `reason` is a sentence for the model. */
  | { readonly ok: false; readonly code: 'invalid_patch'; readonly line: number; readonly reason: string }

const headers =
  'a section that starts with "*** Update File: <path>", "*** Add File: <path>" or "*** Delete File: <path>"'
const header = /^\*\*\*\s*(Update|Add|Delete|Move)\s+File:\s*(.*?)\s*$/
const maxSections = 200

class InvalidPatch extends Error {
  readonly line: number
  constructor(line: number, expected: string, actual: string) {
    const shown = actual.length > 120 ? `${actual.slice(0, 120)} [...]` : actual
    super(`Line ${line} of the patch: expected ${expected}, found ${JSON.stringify(shown)}.`)
    this.line = line
  }
}

/** Linear in the length of the text. Never throws. */
export function parsePatch(text: string): ParsedPatch {
  try {
    const sections = readSections(linesOfPatch(text))
    if (sections.length > 0) return { ok: true, sections }
    return { ok: false, code: 'invalid_patch', line: 1, reason: `The patch is empty; it needs ${headers}.` }
  } catch (error) {
    if (!(error instanceof InvalidPatch)) throw error
    return { ok: false, code: 'invalid_patch', line: error.line, reason: `${error.message} Nothing was changed.` }
  }
}

interface PatchLine {
  readonly number: number
  readonly text: string
}

/** What is between the markers; without them all lines. */
function linesOfPatch(patch: string): PatchLine[] {
  const lines = patch.split('\n').map((text, index) => ({ number: index + 1, text: text.replace(/\r$/, '') }))
  const begin = lines.findIndex(({ text }) => /^\*\*\*\s*Begin\s+Patch\s*$/.test(text))
  const end = lines.findIndex(({ text }, index) => index > begin && /^\*\*\*\s*End\s+Patch\s*$/.test(text))
  return lines.slice(begin + 1, end === -1 ? undefined : end)
}

function readSections(lines: readonly PatchLine[]): PatchSection[] {
  const sections: PatchSection[] = []
  let at = 0
  while (at < lines.length) {
    const { number, text } = lines[at] ?? { number: 0, text: '' }
    at += 1
    if (text.trim() === '' || /^```/.test(text)) continue
    const [, action, path = ''] = header.exec(text) ?? []
    if (action === undefined || path === '') throw new InvalidPatch(number, headers, text)
    const start = at
    while (at < lines.length && !header.test(lines[at]?.text ?? '')) at += 1
    sections.push(...readSection({ action, path, number, text }, lines.slice(start, at)))
    if (sections.length > maxSections) throw new InvalidPatch(number, `at most ${maxSections} files`, text)
  }
  return sections
}

function readSection(
  { action, path, number, text }: PatchLine & { readonly action: string; readonly path: string },
  body: readonly PatchLine[],
): PatchSection[] {
  if (action === 'Add') return [{ kind: 'add', path, line: number, lines: readAddedLines(body) }]
  if (action === 'Update') return [readUpdate(path, number, body)]
  const rest = body.find((line) => line.text.trim() !== '' && !line.text.startsWith('```'))
  if (rest !== undefined) throw new InvalidPatch(rest.number, headers, rest.text)
  if (action === 'Delete') return [{ kind: 'delete', path, line: number }]
  const [, from = '', to = ''] = /^(.+?)\s*->\s*(.+)$/.exec(path) ?? []
  if (to === '') throw new InvalidPatch(number, '"*** Move File: <path> -> <new path>"', text)
  return [{ kind: 'update', path: from, line: number, moveTo: to, hunks: [] }]
}

function readAddedLines(body: readonly PatchLine[]): string[] {
  return withoutEmptyEnd(body).map(({ number, text }) => {
    if (text.startsWith('+')) return text.slice(1)
    throw new InvalidPatch(number, 'a line of the new file, with "+" before it', text)
  })
}

/** Empty lines before the next section belong to no file; those of a file begin with a space or `+`. */
function withoutEmptyEnd(body: readonly PatchLine[]): readonly PatchLine[] {
  const last = body.findLastIndex(({ text }) => text !== '' && !text.startsWith('```'))
  return body.slice(0, last + 1)
}

function readUpdate(path: string, line: number, body: readonly PatchLine[]): PatchSection {
  const changes = withoutEmptyEnd(body)
  const moveTo = moveTargetOf(changes[0])
  const hunks: Hunk[] = []
  let anchors: string[] = []
  let lines: HunkLine[] = []
  let start = line
  let emptyEnd = 0
  const flush = (atEnd: boolean) => {
    // Models separate changes by empty lines, which are then not lines of the file.
    if (!atEnd && emptyEnd > 0) lines.splice(-emptyEnd)
    emptyEnd = 0
    if (lines.length === 0) return
    hunks.push({ line: start, anchors, lines, atEnd })
    anchors = []
    lines = []
  }
  for (const { number, text } of moveTo === '' ? changes : changes.slice(1)) {
    if (/^\*\*\*\s*End\s+of\s+File\s*$/.test(text)) {
      flush(true)
    } else if (text.startsWith('***')) {
      throw new InvalidPatch(number, `a line of a change (" ", "-" or "+" before it) or ${headers}`, text)
    } else if (text.startsWith('@@')) {
      flush(false)
      const anchor = anchorOf(text)
      if (anchor !== '') anchors.push(anchor)
    } else if (!text.startsWith('\\')) {
      if (lines.length === 0) start = number
      lines.push(hunkLineOf(text))
      emptyEnd = text === '' ? emptyEnd + 1 : 0
    }
  }
  flush(false)
  if (anchors.length > 0) throw new InvalidPatch(start, 'lines of a change after "@@"', '')
  if (hunks.length === 0 && moveTo === '')
    throw new InvalidPatch(
      line,
      'a change after this line: context lines with " ", old ones with "-", new ones with "+"',
      path,
    )
  return { kind: 'update', path, line, moveTo, hunks }
}

/** '' when the first line of a section is none that moves the file. */
function moveTargetOf(first: PatchLine | undefined): string {
  const [, target] = /^\*\*\*\s*Move\s+to:\s*(.*?)\s*$/.exec(first?.text ?? '') ?? []
  if (first === undefined || target === undefined) return ''
  if (target === '') throw new InvalidPatch(first.number, '"*** Move to: <new path>"', first.text)
  return target
}

/** `@@ text`, `@@ text @@`, or the line numbers of a unified diff, which models count wrong: they are not used. */
function anchorOf(line: string): string {
  const text = line
    .slice(2)
    .replace(/\s*@@\s*$/, '')
    .trim()
  return /^-\d+(?:,\d+)?\s+\+\d+(?:,\d+)?/.test(text) ? '' : text
}

/** Models leave out the space before unchanged lines; it must match the file all the same. */
function hunkLineOf(text: string): HunkLine {
  if (text.startsWith('+')) return { kind: 'added', text: text.slice(1) }
  if (text.startsWith('-')) return { kind: 'removed', text: text.slice(1) }
  return { kind: 'context', text: text.startsWith(' ') ? text.slice(1) : text }
}
