/**
 * Changes the memory files (contract §4.6): one writer at a time, also among processes; each change starts from what is on disk,
 * so that an edit by hand survives, and replaces the file as a whole.
 */
import { statSync } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isHermesError, messageOf } from '../../lib/errors.ts'
import { ensureDirectory, listNames, writeFileAtomicAsync } from '../../lib/files.ts'
import { sleep } from '../../lib/timers.ts'
import { withFileLock } from '../../store/sqlite/file-lock.ts'
import { scan } from '../context-files/scan.ts'
import type { MemoryChange, MemoryDeps, MemoryFailure, MemoryRefusal, MemoryRequest, MemoryTarget } from './contract.ts'
import { formatEntries, formatUsage, memoryFileNames } from './entries.ts'
import { applyOperations } from './operations.ts'
import { limitOf } from './prompt.ts'
import { readMemory } from './read-memory.ts'

export type MemoryWriteResult =
  | {
      readonly ok: true
      readonly entries: readonly string[]
      readonly usage: string
      /** Empty when nothing had to be written. */
      readonly changes: readonly MemoryChange[]
      readonly archivedCount: number
    }
  /** `entries` and `usage` are absent when the file cannot be read. */
  | MemoryRefusal

export interface MemoryStore {
  /** What `write` would return now. Writes nothing. */
  check(request: MemoryRequest): MemoryWriteResult
  /** Resolves when the change is on disk. Rejects with the signal's reason when it aborts before the write. */
  write(request: MemoryRequest, signal: AbortSignal): Promise<MemoryWriteResult>
}

/** The name of the file, in the directory of the memory, to which the oldest entries of a full file move. */
export const archiveFileName = 'ARCHIVE.jsonl'

export function createMemoryStore(deps: MemoryDeps): MemoryStore {
  /** The last write to each file; the writes of this process wait for each other. */
  const last = new Map<string, Promise<unknown>>()

  async function write(request: MemoryRequest, signal: AbortSignal): Promise<MemoryWriteResult> {
    try {
      ensureDirectory(deps.directory)
      const file = readMemory(deps.directory, request.target)
      if (!file.ok) return unreadable(file.reason)
      // Beside the real file, which the homes of several profiles may share by a link.
      return await withFileLock(`${file.path}.lock`, () => writeLocked(deps, request, signal), signal)
    } catch (error) {
      signal.throwIfAborted()
      deps.log.error({ event: 'memory.write_failed', target: request.target, err: error }, 'the memory was not changed')
      return toWriteFailure(error)
    }
  }

  return {
    check: (request) => prepare(deps, request).result,
    async write(request, signal) {
      const { target } = request
      const before = last.get(target) ?? Promise.resolve()
      const operation = before.then(() => write(request, signal))
      last.set(
        target,
        operation.catch(() => undefined),
      )
      return await operation
    },
  }
}

interface PreparedWrite {
  readonly result: MemoryWriteResult
  /** Absent when nothing is to be written. */
  readonly file?: { readonly path: string; readonly text: string; readonly archived: readonly string[] }
}

/** Reads the file and applies the operations. */
function prepare(
  { directory, settings, holdsSecret }: MemoryDeps,
  { target, operations }: MemoryRequest,
): PreparedWrite {
  const file = readMemory(directory, target)
  if (!file.ok) return { result: unreadable(file.reason) }
  const { memory } = settings()
  const limit = limitOf(memory, target)
  const current = { entries: file.entries, usage: formatUsage(file.entries, limit) }
  const applied = applyOperations(file.entries, operations, { limit, archives: memory.on_full === 'archive' })
  if (!applied.ok) return { result: { ok: false, failure: applied.failure, ...current } }
  const added = applied.changes.filter(({ action }) => action !== 'remove').map(({ content }) => content)
  const ids = [
    ...threatsOf(file.entries, added, applied.entries),
    ...(added.some(imitatesPrompt) ? ['prompt_block'] : []),
    ...(added.some(holdsSecret) ? ['secret'] : []),
  ]
  if (ids.length > 0) return { result: { ok: false, failure: blocked(ids), ...current } }
  const { entries, archived } = applied
  const changes = applied.changes.map((change) => ({ ...change, target }))
  const usage = formatUsage(entries, limit)
  const result: MemoryWriteResult = { ok: true, entries, usage, changes, archivedCount: archived.length }
  if (changes.length === 0) return { result }
  return { result, file: { path: file.path, text: formatEntries(entries), archived } }
}

/** What the new entries contain, and what the whole file would contain only with them. */
function threatsOf(current: readonly string[], added: readonly string[], entries: readonly string[]): string[] {
  if (added.length === 0) return []
  const before = new Set(scan(formatEntries(current), 'strict'))
  const after = scan(formatEntries(entries), 'strict').filter((id) => !before.has(id))
  return [...new Set([...scan(formatEntries(added), 'strict'), ...after])]
}

/** Lines of the prompt: the rules and titles of memory blocks, the headings of other layers, and other separators. */
const promptLine = /^[\s\p{DI}]*(?:[═=─━_*-]{8,}|#{1,2}\s|§\s*$|MEMORY \(|USER PROFILE \()/imu

/** A note of one person could otherwise pass as the profile of another, or as instructions of the gateway. */
function imitatesPrompt(entry: string): boolean {
  return entry.split(/[\n\v\f\u0085\u2028\u2029]/).some((line) => promptLine.test(line))
}

const maxAttempts = 20

/** An editor takes no lock: when it has saved since the file was read, the change starts again from what it saved. */
async function writeLocked(deps: MemoryDeps, request: MemoryRequest, signal: AbortSignal): Promise<MemoryWriteResult> {
  const path = join(deps.directory, memoryFileNames[request.target])
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    signal.throwIfAborted()
    await untilSaved(deps, path, signal)
    const current = fingerprint(path)
    const { result, file } = prepare(deps, request)
    if (file === undefined) return result
    deps.failpoint?.('memory:prepared')
    if (fingerprint(path) !== current) continue
    await archive(deps, request.target, file.archived)
    await removeLeftovers(file.path)
    if (!(await writeFileAtomicAsync(file.path, file.text, () => fingerprint(path) === current))) continue
    deps.failpoint?.('memory:written')
    return result
  }
  return { ok: false, failure: lockedFailure }
}

const savingMs = 200

/** Many editors empty the file before they write it. */
async function untilSaved({ clock }: MemoryDeps, path: string, signal: AbortSignal): Promise<void> {
  const isSaving = () => {
    const stats = statSync(path, { throwIfNoEntry: false })
    return stats?.size === 0 && Math.abs(clock() - stats.mtimeMs) < savingMs
  }
  while (isSaving() && !signal.aborted) await sleep(10, signal)
}

function fingerprint(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false, bigint: true })
  return stats === undefined ? '' : `${stats.ino} ${stats.size} ${stats.mtimeNs}`
}

/** Temporary files of a process that was killed while it wrote. Under the lock no other process writes. */
async function removeLeftovers(path: string): Promise<void> {
  const [folder, name] = [dirname(path), basename(path)]
  for (const listName of await listNames(folder)) {
    const isLeftover =
      listName.startsWith(`.${name}.`) && /^\d+\.[0-9a-f]{8}\.tmp$/.test(listName.slice(name.length + 2))
    if (isLeftover) await rm(join(folder, listName), { force: true })
  }
}

/** Before the file loses them: a crash in between leaves an entry in both, never in none. */
async function archive(
  { directory, clock }: MemoryDeps,
  target: MemoryTarget,
  entries: readonly string[],
): Promise<void> {
  if (entries.length === 0) return
  const archivedAt = new Date(clock()).toISOString()
  const lines = entries.map((content) => `${JSON.stringify({ archived_at: archivedAt, target, content })}\n`)
  const file = await open(join(directory, archiveFileName), 'a', 0o600)
  try {
    await file.writeFile(lines.join(''))
    await file.sync()
  } finally {
    await file.close()
  }
}

function unreadable(reason: string): MemoryWriteResult {
  return {
    ok: false,
    failure: {
      code: 'memory_unreadable',
      reason: `The memory file cannot be used: ${reason}. Nothing was changed. Tell the user to repair it; hermes memory status shows it.`,
    },
  }
}

function blocked(ids: readonly string[]): MemoryFailure {
  return {
    code: 'content_blocked',
    reason: `Refused: the content looks like an attack (${ids.join(', ')}). Nothing was changed. Say the fact in other words, without instructions, secrets, hidden characters, headings or rules.`,
  }
}

const lockedFailure: MemoryFailure = {
  code: 'memory_locked',
  reason: 'Another process is changing the memory. Nothing was changed. Try again.',
}

function toWriteFailure(error: unknown): MemoryWriteResult {
  if (isHermesError(error, 'store/locked')) return { ok: false, failure: lockedFailure }
  return {
    ok: false,
    failure: { code: 'memory_unwritable', reason: `The memory cannot be written: ${messageOf(error)}.` },
  }
}
