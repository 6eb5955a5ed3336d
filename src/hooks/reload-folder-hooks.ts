/**
 * Reloads the hooks in directories: compares their files with the active versions and loads what has changed.
 */
import { hasChanged } from '../lib/file-memo.ts'
import type { DiscoveredHook } from './discovery.ts'
import {
  createEntry,
  discoverFolders,
  enabledHooks,
  enqueueChange,
  type FolderHookEntry,
  type FolderHooksState,
} from './folder-hook-state.ts'
import type { AssignmentResult } from './host-pool.ts'

/** Time for a hook whose files are absent to return, because an editor or a copy may be replacing them. */
const missingGraceMs = 250

/** Runs after other changes. Never rejects. */
export async function reloadAndSave(state: FolderHooksState): Promise<void> {
  await enqueueChange(state, () => reloadFolderHooks(state))
  state.manifests.save()
}

export async function reloadFolderHooks(state: FolderHooksState): Promise<void> {
  const wasInvalid = new Set(state.invalid.map(({ folder }) => folder))
  const { hooks } = discoverFolders(state)
  const before = state.entries
  const next = new Map<string, FolderHookEntry>()
  const changed = new Map<string, DiscoveredHook>()
  for (const hook of hooks) {
    const known = before.get(hook.id)
    state.missing.delete(hook.id)
    // Repaired permissions of the directory do not change its files.
    const isUnchanged = known?.found.folder === hook.folder && !hasChanged(known.fingerprints)
    if (isUnchanged && !wasInvalid.has(hook.folder)) next.set(hook.id, known)
    else {
      next.set(hook.id, createEntry(state, hook, known))
      changed.set(hook.id, hook)
    }
  }
  // A new hook may be a renamed one. Keeping the absent one as well would deliver each event twice.
  const isRenamed = [...changed.keys()].some((id) => !before.has(id))
  for (const entry of before.values()) keepMissing(state, entry, next, isRenamed)
  const isSame = changed.size === 0 && next.size === before.size
  // Loading leads to calls that read the entries. Subscriptions change only when loading has finished.
  state.entries = next
  if (isSame) return
  const toLoad = [...changed.values()].filter(({ manifest }) => manifest.enabled)
  const results = await state.hostPool.assignAndLoad(enabledHooks(state), new Set(toLoad.map(({ id }) => id)))
  for (const [id, hook] of changed) applyLoadResult(state, hook, before.get(id), results.get(id))
  for (const [id, entry] of before) if (!state.entries.has(id)) removeHook(state, id, entry)
  state.subscriptions.onChange()
}

/** Keeps a hook that was not found while its directory is invalid, and for a short time after it has disappeared. */
function keepMissing(
  state: FolderHooksState,
  entry: FolderHookEntry,
  next: Map<string, FolderHookEntry>,
  isRenamed: boolean,
): void {
  const { id, folder } = entry.found
  if (next.has(id)) return
  const invalid = state.invalid.find((folderEntry) => folderEntry.folder === folder)
  if (invalid !== undefined) {
    if (entry.problem !== invalid.reason)
      state.deps.log.warn(
        { event: 'hook.previous_version_kept', hook: id, reason: invalid.reason },
        'the newest version of a hook cannot be used; the previous one stays active',
      )
    next.set(id, { ...entry, problem: invalid.reason })
  } else if (!isRenamed && !state.missing.has(id)) {
    state.missing.add(id)
    next.set(id, entry)
    if (state.watcher === undefined) return
    clearTimeout(state.recheckTimer)
    state.recheckTimer = setTimeout(() => void reloadAndSave(state), missingGraceMs)
  }
}

function applyLoadResult(
  state: FolderHooksState,
  hook: DiscoveredHook,
  before: FolderHookEntry | undefined,
  assignment: AssignmentResult | undefined,
): void {
  const { log } = state.deps
  const { id, manifest } = hook
  const entry = state.entries.get(id)
  if (entry === undefined) return
  if (assignment?.loadResult.ok === false) {
    const { message } = assignment.loadResult.failure.error
    if (assignment.keptPrevious && before !== undefined) {
      log.error(
        { event: 'hook.previous_version_kept', hook: id, reason: message },
        'the newest version of a hook cannot be used; the previous one stays active',
      )
      state.entries.set(id, { ...entry, found: before.found, problem: message })
    } else {
      log.error({ event: 'hook.load_failed', hook: id, reason: message }, 'a hook cannot be loaded')
      entry.listener.markUnloadable(message)
    }
    return
  }
  if (!state.subscriptions.isPaused(id)) entry.listener.resume()
  if (!manifest.enabled) return
  const isReload = before !== undefined
  const action = isReload ? 'Reloaded' : 'Loaded'
  log.info(
    { event: isReload ? 'hook.reloaded' : 'hook.loaded', hook: id, events: manifest.events },
    // Part of the documented behaviour of Hermes (contract §1), so the text names the hook.
    `${action} hook '${id}' for events: ${manifest.events.join(', ')}`,
  )
}

function removeHook(state: FolderHooksState, id: string, { listener }: FolderHookEntry): void {
  listener.stop()
  state.files.delete(id)
  state.missing.delete(id)
  state.isolated.delete(id)
  state.deps.log.info({ event: 'hook.removed', hook: id }, 'a hook was removed')
}
