/**
 * The memory in the system prompt (contract §4.6). The prompt of a session is frozen, so that later changes of the files are
 * part of later sessions.
 */
import { join } from 'node:path'
import { createFileMemo, type FileMemo } from '../../lib/file-memo.ts'
import { type MemoryReader, readableTargets, writableTargets } from './access.ts'
import type { MemorySettings } from './config.ts'
import type { MemoryDeps, MemoryTarget } from './contract.ts'
import { countChars, formatEntries, formatUsage, memoryFileNames, withThousands } from './entries.ts'
import { readMemory } from './read-memory.ts'
import { showEntries } from './shown-entries.ts'

const rule = '═'.repeat(46)

const titles: Readonly<Record<MemoryTarget, string>> = {
  memory: 'MEMORY (your personal notes)',
  user: 'USER PROFILE (who the user is)',
}

/** When to write, for a session with the tool. */
const guidance = 'Save lasting facts with memory: preferences, corrections, the environment; not the progress of tasks.'

/** The reader of a prompt is the person who begins its session, with the tools of the session. */
export type PromptReader = MemoryReader & { readonly toolNames: readonly string[] }

/** Returns the blocks for a new session; '' for none. A file is read again when it has changed. */
export function createMemoryPrompt(deps: MemoryDeps): (reader: PromptReader) => string {
  const known = createFileMemo<BlockEntries>(Object.keys(memoryFileNames).length)
  return (reader) => {
    const { authority, isBackground, toolNames } = reader
    const canWrite =
      toolNames.includes('memory') && !isBackground && writableTargets(deps.settings().memory, authority).length > 0
    const blocks = readableTargets(deps.settings().memory, reader).map((target) => memoryBlock(deps, known, target))
    return [canWrite ? guidance : '', ...blocks].filter((text) => text !== '').join('\n\n')
  }
}

function memoryBlock(deps: MemoryDeps, known: FileMemo<BlockEntries>, target: MemoryTarget): string {
  const { directory, settings, redact } = deps
  const path = join(directory, memoryFileNames[target])
  const limit = limitOf(settings().memory, target)
  const { counted, shown } = known(`${path}\n${limit}`, (lookAt) => {
    lookAt(path)
    return readEntries(deps, target, path, limit)
  })
  return formatBlock(target, { counted: counted.map(redact), shown: shown.map(redact) }, limit)
}

/** Reports what is wrong with the file. */
function readEntries(
  { directory, onScanned, onRead, log }: MemoryDeps,
  target: MemoryTarget,
  path: string,
  limit: number,
): BlockEntries {
  const file = readMemory(directory, target)
  if (!file.ok) {
    onScanned(path, [])
    onRead(path, `${path} is not used: ${file.reason}`)
    log.warn({ event: 'memory.unreadable', path, reason: file.reason }, 'a memory file is not in the prompt')
    return { counted: [], shown: [] }
  }
  onRead(path, lengthProblem(path, file.entries, limit))
  const { entries: shown, threats: ids, blocked } = showEntries(memoryFileNames[target], file.entries)
  onScanned(path, ids)
  if (ids.length > 0)
    log.warn({ event: 'memory.blocked', path, ids, blocked }, 'a memory file may contain instructions of an attacker')
  return { counted: file.entries, shown }
}

export function limitOf(settings: MemorySettings, target: MemoryTarget): number {
  return target === 'memory' ? settings.memory_char_limit : settings.user_char_limit
}

/** Only an edit by hand, or a lower limit, makes a file too long. */
export function lengthProblem(path: string, entries: readonly string[], limit: number): string | undefined {
  const chars = countChars(formatEntries(entries))
  if (chars <= limit) return undefined
  return `${path} has ${withThousands(chars)} characters, of which ${withThousands(limit)} are allowed: the agent can add nothing`
}

interface BlockEntries {
  /** What counts for the limit. */
  readonly counted: readonly string[]
  readonly shown: readonly string[]
}

/** '' without entries. */
function formatBlock(target: MemoryTarget, { counted, shown }: BlockEntries, limit: number): string {
  if (counted.length === 0) return ''
  const over = countChars(formatEntries(counted)) > limit ? ' ⚠ OVER BUDGET' : ''
  const header = `${titles[target]} [${formatUsage(counted, limit)}${over}]`
  return `${rule}\n${header}\n${rule}\n${cutToCap(formatEntries(shown), limit)}`
}

/** What a hand has made much too long must not fill the prompt. The beginning and the end stay, as in Hermes. */
function cutToCap(text: string, limit: number): string {
  const chars = [...text]
  const cap = Math.max(limit * 2, 4_000)
  if (chars.length <= cap) return text
  const head = Math.floor(cap * 0.7)
  const tail = Math.floor(cap * 0.2)
  const note = `[... ${withThousands(chars.length - head - tail)} characters left out: the file is longer than its limit ...]`
  return `${chars.slice(0, head).join('')}\n\n${note}\n\n${chars.slice(-tail).join('')}`
}
