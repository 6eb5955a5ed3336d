/**
 * The hooks in directories: discovered at start, watched while the gateway runs, and reloaded when their files change.
 */
import { basename } from 'node:path'
import { ensureDirectory } from '../lib/files.ts'
import { isSourceFile } from '../lib/safe-files.ts'
import { type DirectoryWatcher, watchDirectories } from '../lib/watch-files.ts'
import type { HookRegistryDeps, HookSubscriptions } from './contract.ts'
import type { Subscription } from './event-names.ts'
import {
  createEntry,
  createFolderHooksState,
  deadlineMsOf,
  discoverFolders,
  enabledHooks,
  enqueueChange,
  type FolderHooksState,
} from './folder-hook-state.ts'
import { folderHookStatus, invalidHookStatus } from './folder-hook-status.ts'
import type { HookStatus } from './hook-status.ts'
import type { HostProcessStatus } from './host-pool.ts'
import type { Listener } from './listener.ts'
import { reloadAndSave } from './reload-folder-hooks.ts'

/** The directory of a hook, and some directories below. */
const depth = 4

export interface FolderHooks {
  /** Reads the directories. Starts no process. Never throws. */
  discover(): void
  subscriptions(): readonly Subscription<Listener>[]
  find(name: string): Listener | undefined
  list(): HookStatus[]
  processes(): readonly HostProcessStatus[]
  /** Watches the hooks directory of the home from now on. */
  watch(): void
  /** Applies a changed configuration or environment. */
  applyConfig(): void
  /** Waits at most `drainMs` for calls in flight, then ends all processes. */
  stop(drainMs: number): Promise<void>
}

export function createFolderHooks(deps: HookRegistryDeps, subscriptions: HookSubscriptions): FolderHooks {
  const state = createFolderHooksState(deps, subscriptions)
  const { hostPool, manifests } = state
  const entries = () => [...state.entries.values()]
  return {
    discover: () => discover(state),
    subscriptions: () =>
      entries()
        .filter(({ found: hook }) => hook.manifest.enabled)
        .map(({ found: hook, listener }) => ({
          listener,
          events: subscriptions.canonicalEvents(hook.manifest.events),
        })),
    find: (name) => state.entries.get(name)?.listener,
    list: () => [
      ...entries().map((entry) => folderHookStatus(entry, deadlineMsOf(state, entry.found))),
      ...state.invalid
        .filter(({ folder }) => !entries().some(({ found: hook }) => hook.folder === folder))
        .map((hook) => invalidHookStatus(hook)),
    ],
    processes: hostPool.processes,
    watch() {
      const home = deps.roots.find(({ origin }) => origin === 'home')
      if (state.watcher !== undefined || home === undefined) return
      state.watcher = startWatching(state, home.path)
      manifests.save()
    },
    applyConfig: () => void enqueueChange(state, () => hostPool.assign(enabledHooks(state))),
    async stop(drainMs) {
      state.stopped = true
      state.watcher?.close()
      clearTimeout(state.recheckTimer)
      for (const { listener } of entries()) listener.stop()
      await hostPool.stop(drainMs)
      await state.lastChange
    },
  }
}

function discover(state: FolderHooksState): void {
  const { log } = state.deps
  const { hooks } = discoverFolders(state)
  state.entries = new Map(hooks.map((hook) => [hook.id, createEntry(state, hook, undefined)]))
  state.hostPool.assign(enabledHooks(state))
  if (hooks.length > 0)
    log.info({ event: 'hook.discovered', hooks: [...state.entries.keys()] }, 'hooks were discovered')
  state.subscriptions.onChange()
}

function startWatching(state: FolderHooksState, root: string): DirectoryWatcher {
  const { log } = state.deps
  try {
    ensureDirectory(root)
  } catch (error) {
    log.warn({ event: 'hook.directory_not_created', root, err: error }, 'the hooks directory cannot be created')
  }
  const watcher = watchDirectories([root], () => reloadAndSave(state), { log, depth, includes: isHookFile })
  watcher.addFiles([...state.files.values()].flat())
  return watcher
}

/**
 * Data files are left out: a hook may write them into its own folder. Data files that handlers import are added one
 * by one.
 */
function isHookFile(path: string): boolean {
  return basename(path) === 'HOOK.yaml' || isSourceFile(path)
}
