/**
 * Applies the hunks of a V4A patch to a text. A hunk is found by its lines, at first exactly, then without regard to spaces, as
 * the replace mode of `patch` does; it must be found in one place only.
 */
import { toOneLine } from '../../../../lib/visible-text.ts'
import { findSequences, indentOf } from '../../../support/replace-text.ts'
import { describeNearest } from './nearest.ts'
import type { Hunk } from './parse.ts'

export type AppliedHunks =
  /** `loose`: how many hunks were found only without regard to spaces. */
  | { readonly ok: true; readonly text: string; readonly loose: number }
  /** `line` of the patch, from 1. `reason` is a sentence for the model. */
  | { readonly ok: false; readonly code: HunkProblem; readonly line: number; readonly reason: string }

type HunkProblem = 'not_found' | 'ambiguous' | 'overlapping' | 'unchanged' | 'too_large'

/** `write_file` may be asked to write as much. */
const maxResultChars = 16 * 1024 * 1024

interface FileLine {
  readonly text: string
  readonly ending: string
}

/** Lines `from` to `to` (not included) of the file become `lines`. */
interface Replacement {
  readonly from: number
  readonly to: number
  readonly lines: readonly FileLine[]
  readonly hunk: Hunk
  readonly loose: boolean
}

interface FileText {
  readonly lines: readonly FileLine[]
  readonly exact: readonly string[]
  readonly loose: readonly string[]
  readonly ending: string
}

/** Hunks describe the text before all of them. Linear in the length of the text for each hunk. Never throws. */
export function applyHunks(text: string, hunks: readonly Hunk[], path: string): AppliedHunks {
  const file = readLines(text)
  const replacements: Replacement[] = []
  let cursor = 0
  for (const hunk of hunks.filter(changesSomething)) {
    const location = locate(file, hunk, cursor, path)
    if (!location.ok) return location
    const { replacement } = location
    const other = replacements.find(({ from, to }) => from < replacement.to && replacement.from < to)
    if (other !== undefined)
      return fail(
        'overlapping',
        hunk,
        `it changes lines that the hunk at line ${other.hunk.line} changes, too; join them`,
      )
    replacements.push(replacement)
    cursor = Math.max(cursor, replacement.to)
  }
  if (replacements.length === 0)
    return { ok: false, code: 'unchanged', line: hunks[0]?.line ?? 1, reason: `The patch changes nothing in ${path}.` }
  const result = join(file, replacements, text)
  if (result.length > maxResultChars)
    return { ok: false, code: 'too_large', line: 1, reason: `${path} would have more than 16 MB. Nothing was changed.` }
  return { ok: true, text: result, loose: replacements.filter(({ loose }) => loose).length }
}

/** Models write unchanged lines alone to show a place. */
function changesSomething({ lines }: Hunk): boolean {
  return lines.some(({ kind }) => kind !== 'context')
}

function readLines(text: string): FileText {
  const ending = text.includes('\r\n') ? '\r\n' : '\n'
  const parts = text.split('\n')
  if (parts.at(-1) === '') parts.pop()
  const lines = parts.map((part, index): FileLine => {
    // The last line may have no line break; it gets one when lines follow it.
    const isOpen = index === parts.length - 1 && !text.endsWith('\n')
    return part.endsWith('\r') && !isOpen
      ? { text: part.slice(0, -1), ending: '\r\n' }
      : { text: part, ending: isOpen ? ending : '\n' }
  })
  const exact = lines.map((line) => line.text)
  return { lines, exact, loose: exact.map(toOneLine), ending }
}

function join({ lines }: FileText, replacements: Replacement[], before: string): string {
  const parts: FileLine[] = []
  let at = 0
  // Two insertions at one place stay in the order of the patch.
  for (const { from, to, lines: added } of replacements.toSorted((a, b) => a.from - b.from)) {
    for (; at < from; at++) parts.push(lines[at] ?? emptyLine)
    for (const line of added) parts.push(line)
    at = to
  }
  for (; at < lines.length; at++) parts.push(lines[at] ?? emptyLine)
  const endsOpen = before !== '' && !before.endsWith('\n')
  const last = parts.length - 1
  return parts.map(({ text, ending }, index) => (endsOpen && index === last ? text : text + ending)).join('')
}

const emptyLine: FileLine = { text: '', ending: '\n' }

type Located = { readonly ok: true; readonly replacement: Replacement } | Extract<AppliedHunks, { ok: false }>

function locate(file: FileText, hunk: Hunk, cursor: number, path: string): Located {
  const anchored = findAnchors(file, hunk, cursor)
  if (anchored === undefined) {
    const nearest = describeNearest(file.exact, [hunk.anchors.at(-1) ?? ''])
    return fail('not_found', hunk, `${path} has no line that contains the text after @@.${nearest}`)
  }
  const searched = hunk.lines.filter(({ kind }) => kind !== 'added').map(({ text }) => text)
  if (searched.length === 0) {
    const at = hunk.anchors.length === 0 || hunk.atEnd ? file.lines.length : anchored + 1
    return { ok: true, replacement: replace(file, hunk, at, false) }
  }
  const start = hunk.anchors.length === 0 ? cursor : anchored
  for (const loose of [false, true]) {
    const places = findSequences(loose ? file.loose : file.exact, loose ? searched.map(toOneLine) : searched, true)
    const chosen = choose(places, hunk, start, file.lines.length - searched.length)
    if (chosen === 'ambiguous') {
      const list = places.slice(0, 20).map((place) => place + 1)
      return fail(
        'ambiguous',
        hunk,
        `its old lines are at ${places.length} places of ${path} (lines ${list.join(', ')}${places.length > 20 ? ' ...' : ''}); add lines around them, or "@@ <a line above>"`,
      )
    }
    if (chosen !== undefined) return { ok: true, replacement: replace(file, hunk, chosen, loose) }
  }
  return fail('not_found', hunk, `its old lines are not in ${path}.${describeNearest(file.exact, searched)}`)
}

/** The place of the lines among those where they are: the only one after `start`, else the only one at all. */
function choose(places: readonly number[], hunk: Hunk, start: number, end: number): number | 'ambiguous' | undefined {
  if (hunk.atEnd && places.at(-1) === end) return end
  const after = places.filter((place) => place >= start)
  // Text after @@ says which one is meant.
  if (after.length === 1 || (after.length > 1 && hunk.anchors.length > 0)) return after[0]
  if (after.length > 1 || places.length > 1) return 'ambiguous'
  return places[0]
}

/** The index of the line of the last anchor; the cursor without one; undefined when one is not found. */
function findAnchors({ exact }: FileText, { anchors }: Hunk, cursor: number): number | undefined {
  let at: number | undefined = cursor
  for (const [index, anchor] of anchors.entries()) {
    const from: number = index === 0 ? at : at + 1
    at = findAnchor(exact, anchor, from) ?? (index === 0 ? findAnchor(exact, anchor, 0) : undefined)
    if (at === undefined) return undefined
  }
  return at
}

function findAnchor(exact: readonly string[], anchor: string, from: number): number | undefined {
  const whole = exact.findIndex((line, index) => index >= from && line.trim() === anchor)
  const part = whole === -1 ? exact.findIndex((line, index) => index >= from && line.includes(anchor)) : whole
  return part === -1 ? undefined : part
}

/** Unchanged lines stay as they are in the file; the new ones get its indentation and line breaks. */
function replace(file: FileText, hunk: Hunk, from: number, loose: boolean): Replacement {
  const lines: FileLine[] = []
  let at = from
  const indent = loose ? indentationOf(file, hunk, from) : undefined
  for (const { kind, text } of hunk.lines) {
    if (kind === 'added') {
      const isIndented = indent !== undefined && text.trim() !== '' && text.startsWith(indent.patch)
      lines.push({ text: isIndented ? indent.file + text.slice(indent.patch.length) : text, ending: file.ending })
      continue
    }
    if (kind === 'context') lines.push(file.lines[at] ?? emptyLine)
    at += 1
  }
  return { from, to: at, lines, hunk, loose }
}

/** The indentation of the first line with text, in the patch and in the file. */
function indentationOf(
  file: FileText,
  { lines }: Hunk,
  from: number,
): { readonly patch: string; readonly file: string } {
  const old = lines.filter(({ kind }) => kind !== 'added')
  const first = Math.max(
    0,
    old.findIndex(({ text }) => text.trim() !== ''),
  )
  return { patch: indentOf(old[first]?.text ?? ''), file: indentOf(file.exact[from + first] ?? '') }
}

function fail(code: HunkProblem, { line }: Hunk, why: string): Extract<AppliedHunks, { ok: false }> {
  const end = /[.!]$/.test(why) ? '' : '.'
  return {
    ok: false,
    code,
    line,
    reason: `The hunk at line ${line} of the patch cannot be applied: ${why}${end} Nothing was changed.`,
  }
}
