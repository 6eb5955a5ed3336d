/**
 * Diffs in results: one part for each file.
 */
import type { ToolViewPart } from '../../message/tool-view.ts'
import type { ViewBudget } from './view-budget.ts'

type DiffPart = Extract<ToolViewPart, { kind: 'diff' }>

/** Lines with which Git tells what it did with a file. */
const gitLine =
  /^(?:diff --git |index |old mode |new mode |new file mode |deleted file mode |similarity |rename |Binary )/

interface FileDiff {
  readonly path: string
  readonly lines: string[]
}

/** A unified diff, also of several files. Texts without hunks give no part. */
export function diffParts(text: string, path: string, budget: ViewBudget): readonly DiffPart[] {
  const changed = filesOf(text, path).filter(({ lines }) => lines.length > 0)
  const only = changed.length === 1 && path !== '' ? path : undefined
  return budget.list(changed).map(({ path: name, lines }) => toPart(only ?? name, lines, budget))
}

function filesOf(text: string, path: string): readonly FileDiff[] {
  const files: FileDiff[] = []
  let before = ''
  /** Lines of the hunk that are still to come, so that a removed `-- x` is not taken for the name of a file. */
  let left = { removed: 0, added: 0 }
  for (const line of text.split(/\r?\n/)) {
    const hunk = /^@@(?: -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@)?/.exec(line)
    if (left.removed > 0 || left.added > 0) {
      left = countLine(line, left)
      files.at(-1)?.lines.push(line)
    } else if (hunk !== null) {
      left = { removed: countOf(hunk, 1), added: countOf(hunk, 2) }
      if (files.length === 0) files.push({ path, lines: [] })
      files.at(-1)?.lines.push(line)
    } else if (line.startsWith('--- ')) before = nameOf(line)
    else if (line.startsWith('+++ ')) files.push({ path: pathOf(before, nameOf(line)), lines: [] })
    else if (/^[ +\-\\]/.test(line) && !gitLine.test(line)) files.at(-1)?.lines.push(line)
  }
  return files
}

/** A hunk without numbers has no count. */
function countOf(hunk: RegExpExecArray, group: 1 | 2): number {
  return hunk[0] === '@@' ? 0 : Number(hunk[group] ?? 1)
}

function countLine(line: string, { removed, added }: { readonly removed: number; readonly added: number }) {
  if (line.startsWith('\\')) return { removed, added }
  return { removed: removed - (line.startsWith('+') ? 0 : 1), added: added - (line.startsWith('-') ? 0 : 1) }
}

function pathOf(before: string, after: string): string {
  return after === '/dev/null' || after === '' ? before : after
}

/** The files of a patch in the format V4A (`*** Update File: src/x.ts`), which has no numbers of lines. */
export function patchParts(patch: string, budget: ViewBudget): readonly DiffPart[] {
  const files: FileDiff[] = []
  for (const line of patch.split(/\r?\n/)) {
    const head = /^\*\*\* (?:Add|Update|Delete|Move) File: *(.+)$/.exec(line)
    if (head !== null) files.push({ path: head[1] ?? '', lines: [] })
    else if (!line.startsWith('*** ')) files.at(-1)?.lines.push(line)
  }
  return budget.list(files).map(({ path, lines }) => toPart(path, lines, budget))
}

/** A replaced text, when the tool does not tell the diff. */
export function replacementPart(path: string, before: string, after: string, budget: ViewBudget): DiffPart {
  const lines = [
    ...(before === '' ? [] : before.split('\n').map((line) => `-${line}`)),
    ...(after === '' ? [] : after.split('\n').map((line) => `+${line}`)),
  ]
  return toPart(path, lines, budget)
}

function toPart(path: string, lines: readonly string[], budget: ViewBudget): DiffPart {
  const count = (sign: string) => lines.filter((line) => line.startsWith(sign)).length
  return {
    kind: 'diff',
    path: budget.line(path),
    added: count('+'),
    removed: count('-'),
    text: budget.head(lines.join('\n')),
  }
}

/** `--- a/src/x.ts<TAB>2026-01-01` */
function nameOf(line: string): string {
  return (line.slice(4).split('\t', 1)[0] ?? '').replace(/^[ab]\//, '')
}
