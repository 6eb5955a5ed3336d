/**
 * The state of the hooks in directories: the active version of each hook, its files, and the hosts that run them.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type FileFingerprints, fingerprintsOf } from '../lib/file-memo.ts'
import type { DirectoryWatcher } from '../lib/watch-files.ts'
import type { HookRegistryDeps, HookSubscriptions } from './contract.ts'
import { type DiscoveredHook, type DiscoveryResult, discoverHooks } from './discovery.ts'
import { groupKeyOf, hookEnvironment } from './host-groups.ts'
import { createHostPool, type HostPool } from './host-pool.ts'
import { createListener, type Listener } from './listener.ts'
import { createManifestReader, type ManifestReader } from './manifest-cache.ts'
import { createHookRequestHandler } from './services.ts'

export interface FolderHookEntry {
  /** The active version. */
  readonly found: DiscoveredHook
  readonly listener: Listener
  /** The files of the newest version, whether it is active or not. */
  readonly fingerprints: FileFingerprints
  /** Why the newest version is not active; '' if it is. */
  readonly problem: string
}

export interface FolderHooksState {
  readonly deps: HookRegistryDeps
  readonly subscriptions: HookSubscriptions
  readonly hostPool: HostPool
  readonly manifests: ManifestReader
  /** Hooks that have a host of their own because they crashed a shared one repeatedly. */
  readonly isolated: Set<string>
  /** The files that each loaded hook consists of. */
  readonly files: Map<string, readonly string[]>
  /** Hooks whose files were absent at the last discovery. */
  readonly missing: Set<string>
  entries: Map<string, FolderHookEntry>
  invalid: DiscoveryResult['invalid']
  reportedWarnings: ReadonlySet<string>
  /** The last change in the queue of changes. Never rejects. */
  lastChange: Promise<void>
  watcher: DirectoryWatcher | undefined
  recheckTimer: NodeJS.Timeout | undefined
  stopped: boolean
}

/** Crashes of a shared host after which a hook gets a host of its own. */
const maxCrashes = 2
/** Limit for a decision or a message to send. Parsing a frame of many megabytes would block the gateway for seconds. */
const maxFrameBytes = 2 * 1024 * 1024
/** Calls in flight get this much time beyond their deadline before a replaced host is stopped. */
const drainMarginMs = 500
const minDrainMs = 1_000

export function createFolderHooksState(deps: HookRegistryDeps, subscriptions: HookSubscriptions): FolderHooksState {
  const { home, settings, environment, cacheFolder, log } = deps
  const isolated = new Set<string>()
  const isIsolated = (id: string) => isolated.has(id)
  const hostPool = createHostPool({
    createHost: (group) => deps.createHost({ ...group, cwd: home, cacheFolder, log, limits: { maxFrameBytes } }),
    onRequest: (payload) => createHookRequestHandler(deps.services, payload),
    groupKeyOf: (hook) => groupKeyOf(hook, { isIsolated }),
    processOptionsOf(hook) {
      const { env, python } = settings()
      const variables = hookEnvironment(hook, { env, environment: environment(), home, isIsolated })
      return { env: variables, ...(hook.language === 'python' ? { command: python } : {}) }
    },
    recordFiles: (id, files) => recordFiles(state, id, files),
    drainMs: () =>
      Math.max(minDrainMs, ...[...state.entries.values()].map(({ found: hook }) => deadlineMsOf(state, hook))) +
      drainMarginMs,
  })
  const state: FolderHooksState = {
    deps,
    subscriptions,
    hostPool,
    manifests: createManifestReader(deps.manifestCache, log),
    isolated,
    files: new Map(),
    missing: new Set(),
    entries: new Map(),
    invalid: [],
    reportedWarnings: new Set(),
    lastChange: Promise.resolve(),
    watcher: undefined,
    recheckTimer: undefined,
    stopped: false,
  }
  return state
}

/** Reads the directories, and logs each warning only when it is new. */
export function discoverFolders(state: FolderHooksState): DiscoveryResult {
  const { roots, log } = state.deps
  const { eventIssue } = state.subscriptions
  const discovery = discoverHooks({ roots, eventIssue, parseManifest: state.manifests.read })
  state.invalid = discovery.invalid
  const warnings = [...discovery.warnings, ...state.invalid.map(({ reason }) => reason)]
  for (const warning of warnings)
    if (!state.reportedWarnings.has(warning))
      log.warn({ event: 'hook.discovery_warning', reason: warning }, 'discovery of hooks reported an issue')
  state.reportedWarnings = new Set(warnings)
  return discovery
}

export function createEntry(
  state: FolderHooksState,
  hook: DiscoveredHook,
  before: FolderHookEntry | undefined,
): FolderHookEntry {
  const { id } = hook
  const fingerprints = fingerprintsOf([hook.manifestFile, hook.handlerFile, ...(state.files.get(id) ?? [])])
  const current = () => state.entries.get(id)?.found ?? hook
  return {
    found: hook,
    fingerprints,
    problem: '',
    listener: before?.listener ?? createFolderListener(state, id, current),
  }
}

export function deadlineMsOf({ deps }: FolderHooksState, { manifest }: DiscoveredHook): number {
  return manifest.timeoutMs ?? deps.settings().timeout * 1_000
}

export function enabledHooks({ entries }: FolderHooksState): DiscoveredHook[] {
  return [...entries.values()].map(({ found: hook }) => hook).filter(({ manifest }) => manifest.enabled)
}

/** Runs changes of hosts one after another. Never rejects. */
export function enqueueChange(state: FolderHooksState, change: () => Promise<void> | void): Promise<void> {
  state.lastChange = state.lastChange.then(async () => {
    if (state.stopped) return
    try {
      await change()
    } catch (error) {
      state.deps.log.error({ event: 'hook.reload_failed', err: error }, 'hooks could not be reloaded')
    }
  })
  return state.lastChange
}

function createFolderListener(state: FolderHooksState, id: string, hook: () => DiscoveredHook): Listener {
  const { home, clock, log } = state.deps
  const listener = createListener({
    id,
    run: (call) => state.hostPool.call(id, call),
    deadlineMs: () => deadlineMsOf(state, hook()),
    isEligible() {
      const { requiresFile } = hook().manifest
      return requiresFile === undefined || existsSync(join(home, requiresFile))
    },
    onCrash: (crashes) => {
      if (crashes >= maxCrashes) isolate(state, id)
    },
    clock,
    log: log.child({ hook: id }),
  })
  if (state.subscriptions.isPaused(id)) listener.pause()
  return listener
}

function isolate(state: FolderHooksState, id: string): void {
  if (state.isolated.has(id)) return
  state.isolated.add(id)
  state.deps.log.warn(
    { event: 'hook.isolated', hook: id, crashes: maxCrashes },
    'a hook crashed its host repeatedly and gets a host of its own',
  )
  void enqueueChange(state, () => state.hostPool.assign(enabledHooks(state)))
}

/** Takes fingerprints only of files that are new: the known ones may have changed since they were loaded. */
function recordFiles(state: FolderHooksState, id: string, files: readonly string[]): void {
  state.files.set(id, files)
  const entry = state.entries.get(id)
  if (entry === undefined) return
  const added = files.filter((file) => !entry.fingerprints.has(file))
  if (added.length === 0) return
  state.entries.set(id, { ...entry, fingerprints: new Map([...entry.fingerprints, ...fingerprintsOf(added)]) })
  state.watcher?.addFiles(added)
}
