/**
 * The hooks that lie in folders: found at the start, followed while the gateway runs, loaded anew when their files change.
 */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Host, HostOptions } from '../hosts/contract.ts'
import { messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { HooksConfig } from './config.ts'
import { type Discovery, discoverHooks, type FoundHook, type HookFolder } from './discovery.ts'
import { folderReport, unusableReport } from './folder-report.ts'
import { environmentOf, groupKeyOf } from './groups.ts'
import { createHosting, type HostGroup, type Placement, type Surroundings } from './hosting.ts'
import { createListener, type Listener } from './listener.ts'
import { createManifestReader } from './manifest-cache.ts'
import type { Subscription } from './matching.ts'
import type { HookReport } from './report.ts'
import { type ServicesForHooks, serveHooks } from './services.ts'
import { isChanged, type Stamps, stampsOf } from './stamp.ts'
import { watchHooks } from './watching.ts'

export interface FolderHooksDeps {
  readonly roots: readonly HookFolder[]
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
  readonly services: ServicesForHooks
  doubtAbout(event: string): string | undefined
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
  reports(): HookReport[]
  processes(): readonly { readonly name: string; readonly pid: number | undefined; readonly state: string }[]
  /** Reads the folders anew and loads what has changed. Never rejects. */
  reload(): Promise<void>
  /** Follows the folders of the home from now on. */
  watch(): void
  /** The configuration or the environment is another one. */
  reconfigured(): void
  /** Lets what runs end, `drainMs` at most. */
  stop(drainMs: number): Promise<void>
}

interface Entry {
  /** The version in use. */
  readonly found: FoundHook
  readonly listener: Listener
  /** Of the newest version that was tried, whether it is in use or not. */
  readonly stamps: Stamps
  /** Why the newest version is not in use. */
  readonly problem: string
}

/** Kills after which a hook lives alone. */
const maxKills = 2
/** Of a decision, or of a message that is to be sent: reading one of many megabytes holds up everybody for seconds. */
const maxFrameBytes = 2 * 1024 * 1024
/** A hook whose files are away for a moment is being replaced. */
const absenceMs = 250

export function createFolderHooks(deps: FolderHooksDeps): FolderHooks {
  const { roots, home, settings, environment, clock, log } = deps
  const loners = new Set<string>()
  const files = new Map<string, readonly string[]>()
  const missing = new Set<string>()
  const onRequest = serveHooks(deps.services)
  const isLoner = (id: string) => loners.has(id)
  const hosting = createHosting({
    createHost: hostFor,
    keyOf: (hook) => groupKeyOf(hook, { isLoner }),
    surroundingsOf,
    noteFiles: (id, found) => noteFiles(id, found),
    drainMs: () => Math.max(1_000, ...[...entries.values()].map(({ found }) => deadlineOf(found))) + 500,
  })
  const manifests = createManifestReader(deps.manifestCache, log)
  let entries = new Map<string, Entry>()
  let unusable: Discovery['unusable'] = []
  let folders: readonly string[] = []
  let reported = new Set<string>()
  let last: Promise<void> = Promise.resolve()
  let watching: ReturnType<typeof watchHooks> | undefined
  let ended = false

  function surroundingsOf(hook: FoundHook): Surroundings {
    const { env, python } = settings()
    const rules = { env, environment: environment(), home, isLoner }
    return { env: environmentOf(hook, rules), ...(hook.language === 'python' ? { command: python } : {}) }
  }

  function hostFor(group: HostGroup): Host {
    const limits = { maxFrameBytes }
    return deps.createHost({ ...group, cwd: home, cacheFolder: deps.cacheFolder, log, onRequest, limits })
  }

  function deadlineOf({ manifest }: FoundHook): number {
    return manifest.timeoutMs ?? settings().timeout * 1_000
  }

  function discover(): Discovery {
    const discovery = discoverHooks({ roots, doubtAbout: deps.doubtAbout, read: manifests.read })
    unusable = discovery.unusable
    folders = discovery.folders
    const sentences = [...discovery.warnings, ...unusable.map(({ reason }) => `a hook cannot be used: ${reason}`)]
    for (const sentence of sentences) if (!reported.has(sentence)) log.warn({}, sentence)
    reported = new Set(sentences)
    return discovery
  }

  function listenerOf(id: string, found: () => FoundHook): Listener {
    const listener = createListener({
      id,
      run: (call) => hosting.call(id, call),
      deadlineMs: () => deadlineOf(found()),
      wantsToHear() {
        const { requiresFile } = found().manifest
        return requiresFile === undefined || existsSync(join(home, requiresFile))
      },
      onKill: (kills) => {
        if (kills >= maxKills) isolate(id)
      },
      clock,
      log: log.child({ hook: id }),
    })
    if (deps.isPaused(id)) listener.pause()
    return listener
  }

  function entryOf(found: FoundHook, before: Entry | undefined, problem = ''): Entry {
    const { id } = found
    const stamps = stampsOf([found.manifestFile, found.handlerFile, ...(files.get(id) ?? [])])
    const current = () => entries.get(id)?.found ?? found
    return { found, stamps, problem, listener: before?.listener ?? listenerOf(id, current) }
  }

  /** A file that was not known before cannot have been compared with anything. */
  function noteFiles(id: string, found: readonly string[]): void {
    files.set(id, found)
    const entry = entries.get(id)
    if (entry === undefined) return
    const unknown = found.filter((file) => !entry.stamps.has(file))
    if (unknown.length === 0) return
    entries.set(id, { ...entry, stamps: new Map([...entry.stamps, ...stampsOf(unknown)]) })
    follow()
  }

  function isolate(id: string): void {
    if (loners.has(id)) return
    loners.add(id)
    log.warn({ hook: id }, `hook ${id} has ended its process ${maxKills} times; it gets one of its own`)
    void queued(async () => hosting.seat(enabled()))
  }

  function enabled(): FoundHook[] {
    return [...entries.values()].map(({ found }) => found).filter(({ manifest }) => manifest.enabled)
  }

  /** Changes of processes happen one after the other. */
  function queued(work: () => Promise<void>): Promise<void> {
    last = last.then(async () => {
      if (ended) return
      await work().catch((error: unknown) =>
        log.error({ error }, `hooks could not be loaded anew: ${messageOf(error)}`),
      )
    })
    return last
  }

  async function reload(): Promise<void> {
    const { hooks } = discover()
    const next = new Map<string, Entry>()
    const changed = new Map<string, FoundHook>()
    for (const found of hooks) {
      const known = entries.get(found.id)
      missing.delete(found.id)
      if (known?.found.folder === found.folder && !isChanged(known.stamps)) next.set(found.id, known)
      else {
        next.set(found.id, entryOf(found, known))
        changed.set(found.id, found)
      }
    }
    // Where another one has come, the absent one was renamed: both would hear the same event.
    const isRenamed = [...changed.keys()].some((id) => !entries.has(id))
    for (const entry of entries.values()) keepAbsent(entry, next, isRenamed)
    const before = entries
    const isSame = changed.size === 0 && next.size === before.size
    // Seen by the calls that loading leads to; who hears what is told when loading is over.
    entries = next
    if (isSame) return
    const willRun = [...changed.values()].filter(({ manifest }) => manifest.enabled)
    const placements = await hosting.place(enabled(), new Set(willRun.map(({ id }) => id)))
    for (const [id, found] of changed) conclude(found, before.get(id), placements.get(id))
    for (const [id, entry] of before) if (!entries.has(id)) forget(id, entry)
    deps.onChange()
  }

  /** A hook that is not found any more stays as long as its folder does, and for a moment longer. */
  function keepAbsent(entry: Entry, next: Map<string, Entry>, isRenamed: boolean): void {
    const { id, folder } = entry.found
    if (next.has(id)) return
    const broken = unusable.find((one) => one.folder === folder)
    if (broken !== undefined) {
      if (entry.problem !== broken.reason)
        log.warn({ hook: id }, `hook ${id} goes on as it was: its newest version cannot be used`)
      next.set(id, { ...entry, problem: broken.reason })
    } else if (!isRenamed && !missing.has(id)) {
      missing.add(id)
      next.set(id, entry)
      watching?.again(absenceMs)
    }
  }

  function conclude(found: FoundHook, before: Entry | undefined, placement: Placement | undefined): void {
    const { id } = found
    const entry = entries.get(id)
    if (entry === undefined) return
    if (placement?.loaded.ok === false) {
      const { message } = placement.loaded.failure.error
      if (placement.keptOld && before !== undefined) {
        log.error({ hook: id }, `hook ${id} goes on as it was: its newest version cannot be loaded: ${message}`)
        entries.set(id, { ...entry, found: before.found, problem: message })
      } else {
        log.error({ hook: id }, `hook ${id} cannot be loaded: ${message}`)
        entry.listener.unloadable(message)
      }
      return
    }
    if (!deps.isPaused(id)) entry.listener.resume()
    if (!found.manifest.enabled) return
    const how = before === undefined ? 'Loaded hook' : 'Loaded anew: hook'
    log.info({ hook: id }, `${how} '${id}' for events: ${found.manifest.events.join(', ')}`)
  }

  function forget(id: string, { listener }: Entry): void {
    listener.end()
    files.delete(id)
    missing.delete(id)
    loners.delete(id)
    log.info({ hook: id }, `hook ${id} is gone`)
  }

  function follow(): void {
    const ownFolders = folders.filter((folder) =>
      roots.some(({ origin, path }) => origin === 'home' && dirname(folder) === path),
    )
    watching?.follow(ownFolders, new Set([...files.values()].flat()))
  }

  return {
    discover() {
      const { hooks } = discover()
      entries = new Map(hooks.map((found) => [found.id, entryOf(found, undefined)]))
      hosting.seat(enabled())
      if (entries.size > 0) log.info({ hooks: [...entries.keys()] }, `hooks found: ${entries.size}`)
      deps.onChange()
    },
    subscriptions: () =>
      [...entries.values()]
        .filter(({ found }) => found.manifest.enabled)
        .map(({ found, listener }) => ({ listener, events: deps.subscriptionsOf(found.manifest.events) })),
    find: (name) => entries.get(name)?.listener,
    reports: () => [
      ...[...entries.values()].map((entry) => folderReport(entry, deadlineOf(entry.found))),
      ...unusable
        .filter(({ folder }) => ![...entries.values()].some(({ found }) => found.folder === folder))
        .map((one) => unusableReport(one)),
    ],
    processes: hosting.processes,
    reload: () => queued(reload),
    watch() {
      const own = roots.find(({ origin }) => origin === 'home')
      if (watching !== undefined || own === undefined) return
      watching = watchHooks({
        root: own.path,
        log,
        async onChange() {
          await queued(reload)
          manifests.keep()
          follow()
        },
      })
      manifests.keep()
      follow()
    },
    reconfigured: () => void queued(async () => hosting.seat(enabled())),
    async stop(drainMs) {
      ended = true
      watching?.close()
      for (const { listener } of entries.values()) listener.end()
      await hosting.stop(drainMs)
      await last
    },
  }
}
