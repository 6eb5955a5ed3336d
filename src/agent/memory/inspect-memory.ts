/**
 * What `hermes memory` and `hermes doctor` say about a memory file.
 */
import { join } from 'node:path'
import { enabledTargets } from './access.ts'
import type { MemorySettings } from './config.ts'
import type { MemoryTarget } from './contract.ts'
import { formatUsage, memoryFileNames } from './entries.ts'
import { lengthProblem, limitOf } from './prompt.ts'
import { readMemory } from './read-memory.ts'
import { showEntries } from './shown-entries.ts'

export interface MemoryFileReport {
  readonly target: MemoryTarget
  readonly path: string
  /** Whether the configuration uses it. */
  readonly enabled: boolean
  readonly entries: readonly string[]
  /** `67% — 1,474/2,200 chars` */
  readonly usage: string
  /** What the scan found: these entries are not in the prompt. Empty for a harmless file. */
  readonly threats: readonly string[]
  /** `unreadable`: the file is not in the prompt. `blocked`: some of its entries are not. `too_long`: nothing can be added. */
  readonly state: 'ok' | 'unreadable' | 'blocked' | 'too_long'
  /** A sentence; '' for `ok`. */
  readonly problem: string
}

/** Never throws. @param directory `$HERMES_HOME/memories` */
export function inspectMemory(directory: string, settings: MemorySettings, target: MemoryTarget): MemoryFileReport {
  const path = join(directory, memoryFileNames[target])
  const limit = limitOf(settings, target)
  const file = readMemory(directory, target)
  const entries = file.ok ? file.entries : []
  const { threats, blocked } = showEntries(memoryFileNames[target], entries)
  const tooLong = lengthProblem(path, entries, limit)
  const facts = {
    target,
    path,
    enabled: enabledTargets(settings).includes(target),
    entries,
    usage: formatUsage(entries, limit),
    threats,
  }
  if (!file.ok) return { ...facts, state: 'unreadable', problem: `${path} is not used: ${file.reason}` }
  if (threats.length > 0)
    return {
      ...facts,
      state: 'blocked',
      problem: `${blocked} of ${entries.length} entries of ${path} are not used: they look like an attack (${threats.join(', ')})`,
    }
  return tooLong === undefined
    ? { ...facts, state: 'ok', problem: '' }
    : { ...facts, state: 'too_long', problem: tooLong }
}
