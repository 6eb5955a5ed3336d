/**
 * What is said of hooks that lie in folders.
 */
import { extname } from 'node:path'
import type { FoundHook, UnusableHook } from './discovery.ts'
import type { Listener } from './listener.ts'
import { type HookReport, noCounts } from './report.ts'

function languageOf(file: string): string {
  const extension = extname(file)
  if (extension === '.py') return 'python'
  return extension === '.ts' || extension === '.mts' ? 'typescript' : 'javascript'
}

interface InUse {
  readonly found: FoundHook
  readonly listener: Listener
  readonly problem: string
}

export function folderReport({ found, listener, problem }: InUse, timeoutMs: number): HookReport {
  const { id, manifest, origin, folder, handlerFile } = found
  const state = manifest.enabled ? listener.state() : { state: 'disabled' as const, reason: 'enabled: false' }
  return {
    name: id,
    kind: 'folder',
    description: manifest.description,
    events: manifest.events,
    ...state,
    problem,
    language: languageOf(handlerFile),
    origin,
    folder,
    priority: manifest.priority,
    timeoutMs,
    ...listener.counts(),
  }
}

export function unusableReport({ id, folder, reason }: UnusableHook): HookReport {
  return {
    ...noCounts,
    name: id,
    kind: 'folder',
    description: '',
    events: [],
    state: 'invalid',
    reason,
    problem: '',
    language: '',
    origin: 'home',
    folder,
    priority: 0,
    timeoutMs: 0,
  }
}
