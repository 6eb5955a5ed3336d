/**
 * Changes of a memory file, without the file (contract §4.6).
 */
import type { MemoryAction, MemoryChange, MemoryFailure, MemoryOperation } from './contract.ts'
import { countChars, formatEntries, parseEntries, withoutDuplicates, withThousands } from './entries.ts'
import { findNamedEntry } from './shown-entries.ts'

export type AppliedOperations =
  | {
      readonly ok: true
      readonly entries: readonly string[]
      /** Empty when the file already has everything. */
      readonly changes: readonly Omit<MemoryChange, 'target'>[]
      /** Entries that made room, the oldest first. */
      readonly archived: readonly string[]
    }
  | { readonly ok: false; readonly failure: MemoryFailure }

export interface OperationLimits {
  /** Maximum number of characters of the file. */
  readonly limit: number
  /** Whether the oldest entries make room. */
  readonly archives: boolean
}

/** Applies operations in order and checks the limit on the result. Pure. */
export function applyOperations(
  current: readonly string[],
  operations: readonly MemoryOperation[],
  { limit, archives }: OperationLimits,
): AppliedOperations {
  let entries = [...current]
  const changes: Omit<MemoryChange, 'target'>[] = []
  for (const [index, operation] of operations.entries()) {
    const applied = applyOperation(entries, operation, limit)
    if ('failure' in applied) return { ok: false, failure: numbered(applied.failure, index, operations) }
    entries = withoutDuplicates(applied.entries)
    changes.push(...applied.changes)
  }
  const added = new Set(changes.filter(({ action }) => action !== 'remove').map(({ content }) => content))
  const archived = archives ? takeOldest(entries, added, limit) : []
  const total = countChars(formatEntries(entries))
  const before = countChars(formatEntries(current))
  // A file that someone else made too long may become shorter step by step.
  if (total > limit && total >= before && changes.length > 0)
    return { ok: false, failure: tooLong(before, total, limit) }
  return { ok: true, entries, changes, archived }
}

function numbered(failure: MemoryFailure, index: number, operations: readonly MemoryOperation[]): MemoryFailure {
  if (operations.length === 1) return failure
  return { ...failure, reason: `Operation ${index + 1}: ${failure.reason} No operation was applied.` }
}

type AppliedOperation =
  | { readonly entries: readonly string[]; readonly changes: readonly Omit<MemoryChange, 'target'>[] }
  | { readonly failure: MemoryFailure }

function applyOperation(
  entries: readonly string[],
  { action, content = '', old_text: oldText = '' }: MemoryOperation,
  limit: number,
): AppliedOperation {
  // A line that is only `§` ends an entry, as it would in the file.
  const contents = action === 'remove' ? [] : parseEntries(content.toWellFormed())
  if (action !== 'remove' && contents.length === 0)
    return failed('content_required', `${action} needs content, which must not be empty.`)
  if (action === 'add') {
    const added = contents.filter((entry) => !entries.includes(entry))
    return { entries: [...entries, ...added], changes: added.map((entry) => ({ action, content: entry })) }
  }
  const text = oldText.replace(/\r\n?/g, '\n').trim()
  const match = findEntry(entries, action, text)
  if ('failure' in match) return match
  const { index, entry } = match
  // The line of a blocked entry means all of it; another text may mean less.
  const meansAll = action === 'remove' && !entry.includes(text)
  if (countChars(entry) > limit && !meansAll)
    return failed(
      'entry_too_long',
      'This entry is longer than the whole file may be, so someone wrote it by hand. It was not changed: the user can shorten it, or separate entries with a line that is only §.',
    )
  if (contents.length === 1 && contents[0] === entry) return { entries, changes: [] }
  const metadata = { old_text: oldText }
  return {
    entries: entries.toSpliced(index, 1, ...contents),
    changes:
      action === 'remove'
        ? [{ action, content: entry, metadata }]
        : contents.map((replacement) => ({ action, content: replacement, metadata })),
  }
}

/** The entry that equals the text, the only one that contains it, or the blocked one that the text names. */
function findEntry(
  entries: readonly string[],
  action: MemoryAction,
  text: string,
): { readonly index: number; readonly entry: string } | { readonly failure: MemoryFailure } {
  if (text === '')
    return failed('old_text_required', `${action} needs old_text: a part of the entry, which no other has.`)
  const named = findNamedEntry(entries, text)
  const containing = entries.includes(text) ? [text] : entries.filter((entry) => entry.includes(text))
  const matching = containing.length === 0 && named !== undefined ? [named] : containing
  const [entry, another] = matching
  if (entry === undefined) return failed('no_match', 'No entry contains old_text. Use the exact text of an entry.')
  if (another !== undefined)
    return failed('ambiguous', `${matching.length} entries contain old_text. Use a longer part of the one you mean.`, {
      matches: matching,
    })
  return { index: entries.indexOf(entry), entry }
}

const maxPreviewChars = 80

export function previewOf(entry: string): string {
  const chars = [...entry.slice(0, 2 * maxPreviewChars + 2)]
  return chars.length > maxPreviewChars ? `${chars.slice(0, maxPreviewChars).join('')}...` : entry
}

/** Removes the oldest entries in place until the rest fits. Entries that were just written stay. */
function takeOldest(entries: string[], added: ReadonlySet<string>, limit: number): string[] {
  const taken: string[] = []
  while (countChars(formatEntries(entries)) > limit) {
    const index = entries.findIndex((entry) => !added.has(entry))
    if (index === -1) {
      // Nothing would be gained.
      entries.unshift(...taken.splice(0))
      return []
    }
    taken.push(...entries.splice(index, 1))
  }
  return taken
}

function tooLong(before: number, total: number, limit: number): MemoryFailure {
  return {
    code: 'limit_exceeded',
    reason: `The file has ${withThousands(before)} of ${withThousands(limit)} characters and would have ${withThousands(total)}. Nothing was changed. Merge, shorten or remove entries and add the new one in one call with operations.`,
  }
}

function failed(
  code: MemoryFailure['code'],
  reason: string,
  more: Pick<MemoryFailure, 'matches'> = {},
): { readonly failure: MemoryFailure } {
  return { failure: { code, reason, ...more } }
}
