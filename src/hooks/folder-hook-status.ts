/**
 * The status of hooks in directories.
 */
import { extname } from 'node:path'
import type { DiscoveredHook, InvalidHook } from './discovery.ts'
import { type HookStatus, zeroCounts } from './hook-status.ts'
import type { Listener } from './listener.ts'

function languageOf(file: string): string {
  const extension = extname(file)
  if (extension === '.py') return 'python'
  return extension === '.ts' || extension === '.mts' ? 'typescript' : 'javascript'
}

interface ActiveHook {
  readonly found: DiscoveredHook
  readonly listener: Listener
  readonly problem: string
}

export function folderHookStatus({ found: hook, listener, problem }: ActiveHook, timeoutMs: number): HookStatus {
  const { id, manifest, origin, folder, handlerFile } = hook
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

export function invalidHookStatus({ id, folder, reason }: InvalidHook): HookStatus {
  return {
    ...zeroCounts,
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
