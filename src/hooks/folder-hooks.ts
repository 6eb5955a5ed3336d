/**
 * The hooks that lie in folders: found at the start, followed while the gateway runs, loaded anew when their files change.
 */
import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Host, HostOptions } from '../hosts/contract.ts'
import { type FileFingerprints, fingerprintsOf, hasChanged } from '../lib/file-fingerprint.ts'
import { ensureDirectory } from '../lib/files.ts'
import type { Logger } from '../lib/log.ts'
import { type DirectoryWatcher, watchDirectories } from '../lib/watch-files.ts'
import type { HooksConfig } from './config.ts'
import { type DiscoveredHook, type DiscoveryResult, discoverHooks, type HookRoot } from './discovery.ts'
import type { Subscription } from './event-matcher.ts'
import { folderHookStatus, invalidHookStatus } from './folder-hook-status.ts'
import { isHandlerFileName } from './handler-file.ts'
import type { HookStatus } from './hook-status.ts'
import { groupKeyOf, hookEnvironment } from './host-groups.ts'
import { type AssignmentResult, createHostPool, type HostGroup, type HostProcessOptions } from './host-pool.ts'
import { createListener, type Listener } from './listener.ts'
import { createManifestReader } from './manifest-cache.ts'
import { createHookRequestHandler, type HookGatewayServices } from './services.ts'

export interface FolderHooksDeps {
  readonly roots: readonly HookRoot[]
  /** The home of the gateway. */
  readonly home: string
  readonly settings: () => HooksConfig
  readonly environment: () => Readonly<Record<string, string>>
  createHost(options: HostOptions): Host
  /** Where TypeScript without its types is kept. */
  readonly cacheFolder: string
  /** Where it is kept what manifests say. */
  readonly manifestCache: string
  /** What handlers may ask for. */
  readonly services: HookGatewayServices
  eventIssue(event: string): string | undefined
  subscriptionsOf(events: readonly string[]): string[]
  isPaused(id: string): boolean
  /** Who hears what is another list now. */
  onChange(): void
  readonly clock: () => number
  readonly log: Logger
}

export interface FolderHooks {
  /** Reads the folders; starts nothing. Never throws. */
  discover(): void
  subscriptions(): readonly Subscription<Listener>[]
  find(name: string): Listener | undefined
  list(): HookStatus[]
  processes(): readonly { readonly name: string; readonly pid: number | undefined; readonly state: string }[]
  /** Reads the folders anew and loads what has changed. Never rejects. */
  reload(): Promise<void>
  /** Follows the folders of the home from now on. */
  watch(): void
  /** The configuration or the environment is another one. */
  applyConfig(): void
  /** Lets what runs end, `drainMs` at most. */
  stop(drainMs: number): Promise<void>
}

interface Entry {
  /** The version in use. */
  readonly found: DiscoveredHook
  readonly listener: Listener
  /** Of the newest version that was tried, whether it is in use or not. */
  readonly fingerprints: FileFingerprints
  /** Why the newest version is not in use. */
  readonly problem: string
}

/** Kills after which a hook lives alone. */
const maxCrashes = 2
/** Of a decision, or of a message that is to be sent: reading one of many megabytes holds up everybody for seconds. */
const maxFrameBytes = 2 * 1024 * 1024
/** A hook whose files are away for a moment is being replaced. */
const missingGraceMs = 250

export function createFolderHooks(deps: FolderHooksDeps): FolderHooks {
  const { roots, home, settings, environment, clock, log } = deps
  const isolated = new Set<string>()
  const files = new Map<string, readonly string[]>()
  const missing = new Set<string>()
  const onRequest = createHookRequestHandler(deps.services)
  const isIsolated = (id: string) => isolated.has(id)
  const hostPool = createHostPool({
    createHost: createGroupHost,
    groupKeyOf: (hook) => groupKeyOf(hook, { isIsolated }),
    processOptionsOf,
    recordFiles: (id, found) => recordFiles(id, found),
    drainMs: () => Math.max(1_000, ...[...entries.values()].map(({ found }) => deadlineMsOf(found))) + 500,
  })
  const manifests = createManifestReader(deps.manifestCache, log)
  let entries = new Map<string, Entry>()
  let invalid: DiscoveryResult['invalid'] = []
  let reportedWarnings = new Set<string>()
  let lastChange: Promise<void> = Promise.resolve()
  let watcher: DirectoryWatcher | undefined
  let recheckTimer: NodeJS.Timeout | undefined
  let stopped = false

  function processOptionsOf(hook: DiscoveredHook): HostProcessOptions {
    const { env, python } = settings()
    const rules = { env, environment: environment(), home, isIsolated }
    return { env: hookEnvironment(hook, rules), ...(hook.language === 'python' ? { command: python } : {}) }
  }

  function createGroupHost(group: HostGroup): Host {
    const limits = { maxFrameBytes }
    return deps.createHost({ ...group, cwd: home, cacheFolder: deps.cacheFolder, log, onRequest, limits })
  }

  function deadlineMsOf({ manifest }: DiscoveredHook): number {
    return manifest.timeoutMs ?? settings().timeout * 1_000
  }

  function discover(): DiscoveryResult {
    const discovery = discoverHooks({ roots, eventIssue: deps.eventIssue, parseManifest: manifests.read })
    invalid = discovery.invalid
    const sentences = [...discovery.warnings, ...invalid.map(({ reason }) => `a hook cannot be used: ${reason}`)]
    for (const sentence of sentences)
      if (!reportedWarnings.has(sentence)) log.warn({ event: 'hook.discovery_warning' }, sentence)
    reportedWarnings = new Set(sentences)
    return discovery
  }

  function createEntryListener(id: string, found: () => DiscoveredHook): Listener {
    const listener = createListener({
      id,
      run: (call) => hostPool.call(id, call),
      deadlineMs: () => deadlineMsOf(found()),
      isEligible() {
        const { requiresFile } = found().manifest
        return requiresFile === undefined || existsSync(join(home, requiresFile))
      },
      onCrash: (crashes) => {
        if (crashes >= maxCrashes) isolate(id)
      },
      clock,
      log: log.child({ hook: id }),
    })
    if (deps.isPaused(id)) listener.pause()
    return listener
  }

  function createEntry(found: DiscoveredHook, before: Entry | undefined, problem = ''): Entry {
    const { id } = found
    const fingerprints = fingerprintsOf([found.manifestFile, found.handlerFile, ...(files.get(id) ?? [])])
    const current = () => entries.get(id)?.found ?? found
    return { found, fingerprints, problem, listener: before?.listener ?? createEntryListener(id, current) }
  }

  /** A file that was not known before cannot have been compared with anything. */
  function recordFiles(id: string, found: readonly string[]): void {
    files.set(id, found)
    const entry = entries.get(id)
    if (entry === undefined) return
    const unknown = found.filter((file) => !entry.fingerprints.has(file))
    if (unknown.length === 0) return
    entries.set(id, { ...entry, fingerprints: new Map([...entry.fingerprints, ...fingerprintsOf(unknown)]) })
    watcher?.addFiles(unknown)
  }

  function isolate(id: string): void {
    if (isolated.has(id)) return
    isolated.add(id)
    log.warn(
      { event: 'hook.isolated', hook: id, crashes: maxCrashes },
      'a hook crashed its host repeatedly and gets a host of its own',
    )
    void enqueue(async () => hostPool.assign(enabled()))
  }

  function enabled(): DiscoveredHook[] {
    return [...entries.values()].map(({ found }) => found).filter(({ manifest }) => manifest.enabled)
  }

  /** Changes of processes happen one after the other. */
  function enqueue(work: () => Promise<void>): Promise<void> {
    lastChange = lastChange.then(async () => {
      if (stopped) return
      await work().catch((error: unknown) =>
        log.error({ event: 'hook.reload_failed', err: error }, 'hooks could not be reloaded'),
      )
    })
    return lastChange
  }

  async function reload(): Promise<void> {
    const { hooks } = discover()
    const next = new Map<string, Entry>()
    const changed = new Map<string, DiscoveredHook>()
    for (const found of hooks) {
      const known = entries.get(found.id)
      missing.delete(found.id)
      if (known?.found.folder === found.folder && !hasChanged(known.fingerprints)) next.set(found.id, known)
      else {
        next.set(found.id, createEntry(found, known))
        changed.set(found.id, found)
      }
    }
    // Where another one has come, the absent one was renamed: both would hear the same event.
    const isRenamed = [...changed.keys()].some((id) => !entries.has(id))
    for (const entry of entries.values()) keepMissing(entry, next, isRenamed)
    const before = entries
    const isSame = changed.size === 0 && next.size === before.size
    // Seen by the calls that loading leads to; who hears what is told when loading is over.
    entries = next
    if (isSame) return
    const willRun = [...changed.values()].filter(({ manifest }) => manifest.enabled)
    const assignmentResults = await hostPool.assignAndLoad(enabled(), new Set(willRun.map(({ id }) => id)))
    for (const [id, found] of changed) applyLoadResult(found, before.get(id), assignmentResults.get(id))
    for (const [id, entry] of before) if (!entries.has(id)) removeHook(id, entry)
    deps.onChange()
  }

  /** A hook that is not found any more stays as long as its folder does, and for a moment longer. */
  function keepMissing(entry: Entry, next: Map<string, Entry>, isRenamed: boolean): void {
    const { id, folder } = entry.found
    if (next.has(id)) return
    const broken = invalid.find((one) => one.folder === folder)
    if (broken !== undefined) {
      if (entry.problem !== broken.reason)
        log.warn(
          { event: 'hook.previous_version_kept', hook: id, reason: broken.reason },
          'the newest version of a hook is invalid; the previous one stays active',
        )
      next.set(id, { ...entry, problem: broken.reason })
    } else if (!isRenamed && !missing.has(id)) {
      missing.add(id)
      next.set(id, entry)
      if (watcher === undefined) return
      clearTimeout(recheckTimer)
      recheckTimer = setTimeout(() => void reloadChanged(), missingGraceMs)
    }
  }

  function applyLoadResult(
    found: DiscoveredHook,
    before: Entry | undefined,
    assignment: AssignmentResult | undefined,
  ): void {
    const { id } = found
    const entry = entries.get(id)
    if (entry === undefined) return
    if (assignment?.loadResult.ok === false) {
      const { message } = assignment.loadResult.failure.error
      if (assignment.keptPrevious && before !== undefined) {
        log.error(
          { event: 'hook.previous_version_kept', hook: id, reason: message },
          'the newest version of a hook cannot be loaded; the previous one stays active',
        )
        entries.set(id, { ...entry, found: before.found, problem: message })
      } else {
        log.error({ event: 'hook.load_failed', hook: id, reason: message }, 'a hook cannot be loaded')
        entry.listener.markUnloadable(message)
      }
      return
    }
    if (!deps.isPaused(id)) entry.listener.resume()
    if (!found.manifest.enabled) return
    const isReload = before !== undefined
    const { events } = found.manifest
    const action = isReload ? 'Reloaded' : 'Loaded'
    log.info(
      { event: isReload ? 'hook.reloaded' : 'hook.loaded', hook: id, events },
      // The seeds promise this text.
      `${action} hook '${id}' for events: ${events.join(', ')}`,
    )
  }

  function removeHook(id: string, { listener }: Entry): void {
    listener.stop()
    files.delete(id)
    missing.delete(id)
    isolated.delete(id)
    log.info({ event: 'hook.removed', hook: id }, 'a hook was removed')
  }

  /** Never rejects. */
  async function reloadChanged(): Promise<void> {
    await enqueue(reload)
    manifests.save()
  }

  function startWatching(root: string): DirectoryWatcher {
    try {
      ensureDirectory(root)
    } catch (error) {
      log.warn({ event: 'hook.directory_not_created', root, err: error }, 'the directory of hooks cannot be created')
    }
    const opened = watchDirectories([root], reloadChanged, { log, depth: 1, includes: isHookFile })
    opened.addFiles([...files.values()].flat())
    return opened
  }

  return {
    discover() {
      const { hooks } = discover()
      entries = new Map(hooks.map((found) => [found.id, createEntry(found, undefined)]))
      hostPool.assign(enabled())
      if (entries.size > 0) log.info({ event: 'hook.discovered', hooks: [...entries.keys()] }, 'hooks were found')
      deps.onChange()
    },
    subscriptions: () =>
      [...entries.values()]
        .filter(({ found }) => found.manifest.enabled)
        .map(({ found, listener }) => ({ listener, events: deps.subscriptionsOf(found.manifest.events) })),
    find: (name) => entries.get(name)?.listener,
    list: () => [
      ...[...entries.values()].map((entry) => folderHookStatus(entry, deadlineMsOf(entry.found))),
      ...invalid
        .filter(({ folder }) => ![...entries.values()].some(({ found }) => found.folder === folder))
        .map((one) => invalidHookStatus(one)),
    ],
    processes: hostPool.processes,
    reload: () => enqueue(reload),
    watch() {
      const own = roots.find(({ origin }) => origin === 'home')
      if (watcher !== undefined || own === undefined) return
      watcher = startWatching(own.path)
      manifests.save()
    },
    applyConfig: () => void enqueue(async () => hostPool.assign(enabled())),
    async stop(drainMs) {
      stopped = true
      watcher?.close()
      clearTimeout(recheckTimer)
      for (const { listener } of entries.values()) listener.stop()
      await hostPool.stop(drainMs)
      await lastChange
    },
  }
}

/** A file that decides what a hook does. Files that handlers import are added one by one. */
function isHookFile(path: string): boolean {
  const name = basename(path)
  return name === 'HOOK.yaml' || isHandlerFileName(name)
}
