/**
 * Loads the plugins that the configuration names, and unloads those that it names no more (contract §2.1, §2.2). A plugin
 * that cannot be loaded leaves nothing behind and harms no other.
 */
import { isHermesError, messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { within } from '../lib/wait.ts'
import { cataloguePlugins, isCalled, type PluginCatalogue } from './catalogue.ts'
import { entryOf, type PluginsConfig } from './config.ts'
import { createPluginContext, type PluginServices } from './context.ts'
import type { PluginContext } from './contract.ts'
import type { FoundPlugin, PluginFolder } from './discovery.ts'
import { createPluginEntries, stampOf } from './entry.ts'
import { type InPlugin, type Observe, ownedBy } from './firing.ts'
import { placeOf } from './place.ts'
import { createRegistrations, type Registrations } from './registrations.ts'
import { type PluginReport, type PluginTrouble, pluginTroubles, reportsOf } from './report.ts'
import { createPluginConfig, settingDoubts } from './settings.ts'

export interface PluginLoaderDeps {
  /** The bundled ones first. */
  readonly roots: readonly PluginFolder[]
  settings(): PluginsConfig
  environment(): Readonly<Record<string, string>>
  readonly services: PluginServices
  /** Runs `register` of a plugin in Python; resolves when it has returned. Without it none is loaded. */
  // biome-ignore lint/suspicious/noConfusingVoidType: whoever has nothing to end returns nothing
  readonly loadPython?: ((plugin: FoundPlugin, context: PluginContext) => Promise<PluginProcess | void>) | undefined
  /** Told of each call of a callback of a plugin. */
  readonly observe?: Observe | undefined
  /** Runs `register` and every callback of a plugin. */
  readonly inPlugin?: InPlugin | undefined
  /** How long `register` may take, ms; 10,000 if left out. */
  readonly registerMs?: number
  readonly clock: () => number
  readonly log: Logger
}

/** Where a plugin runs that has a process of its own. */
export interface PluginProcess {
  /** Why nothing of it is called any more; '' while it works. */
  fault(): string
  /** What is odd about it, a sentence each. */
  doubts(): readonly string[]
  /** Ends it, when everything was taken back. Never rejects. */
  stop(): Promise<void>
}

export interface PluginLoader {
  /** Makes what is loaded equal to what is wanted; one after the other when called again meanwhile. Never rejects. */
  sync(): Promise<void>
  /** As of the last `sync`. */
  list(): readonly PluginReport[]
  troubles(): readonly PluginTrouble[]
  /** Unloads everything, the last one first. Never rejects. May be called twice. */
  stop(): Promise<void>
}

interface Loaded {
  readonly found: FoundPlugin
  readonly registrations: Registrations
  readonly warnings: readonly string[]
  readonly loadMs: number
  readonly process: PluginProcess | undefined
}

const noPython = 'plugins in Python cannot run yet'

/** What takes longer than this to fail is tried again only when its file has changed: everybody waits for it meanwhile. */
const slowFailureMs = 5_000

export function createPluginLoader(deps: PluginLoaderDeps): PluginLoader {
  const { services, clock, log, registerMs = 10_000, inPlugin = (_id, work) => work() } = deps
  const entries = createPluginEntries()
  /** In the order in which they were loaded. */
  const loaded = new Map<string, Loaded>()
  const failures = new Map<string, string>()
  /** What took long to fail: its file as it was then. */
  const slow = new Map<string, string>()
  let catalogue: PluginCatalogue = { plugins: [], unusable: [], warnings: [], missing: [], isWanted: () => false }
  const ending = new AbortController()
  let queue = Promise.resolve()
  const told = new Set<string>()

  function hasPlugin(id: string): boolean {
    return [...loaded.keys()].some((other) => isCalled(id, other))
  }

  async function sync(): Promise<void> {
    if (ending.signal.aborted) return
    const settings = deps.settings()
    catalogue = await cataloguePlugins({ roots: deps.roots, settings, environment: deps.environment() })
    const wanted = catalogue.plugins.filter(({ wish, obstacle }) => wish === 'enabled' && obstacle === '')
    const stays = ({ found: { id, folder }, process }: Loaded) =>
      (process?.fault() ?? '') === '' && wanted.some(({ found }) => found.id === id && found.folder === folder)
    for (const id of slow.keys()) if (!wanted.some(({ found }) => found.id === id)) slow.delete(id)
    for (const id of failures.keys()) if (!slow.has(id)) failures.delete(id)
    for (const one of [...loaded.values()].reverse()) if (!stays(one)) await unload(one)
    for (const { found } of wanted) if (!loaded.has(found.id) && !failsSlowly(found)) await load(found)
    tell()
  }

  function failsSlowly({ id, entryFile }: FoundPlugin): boolean {
    return slow.has(id) && slow.get(id) === stampOf(entryFile)
  }

  async function load(found: FoundPlugin): Promise<void> {
    const { id, entryFile } = found
    const begun = clock()
    const stamp = stampOf(entryFile)
    failures.delete(id)
    slow.delete(id)
    const own = log.child({ plugin: id })
    const registrations = createRegistrations(id, log)
    const entry = () => entryOf(deps.settings(), id)
    const warnings = settingDoubts(found.manifest.configSchema, entry().settings)
    const context = createPluginContext({
      plugin: found,
      services,
      registrations,
      config: createPluginConfig(found.manifest.configSchema, () => entry().settings),
      hasPlugin,
      observe: ownedBy(id, deps.observe, deps.inPlugin),
      log: own,
    })
    let process: PluginProcess | undefined
    try {
      const running = inPlugin(id, () => run(found, context))
      const done = await within(running, registerMs, ending.signal)
      if (!done.done) {
        running.catch((error: unknown) => own.debug({ error }, 'register failed after it had been given up'))
        throw new Error(ending.signal.aborted ? 'the gateway stops' : `register did not end within ${registerMs} ms`)
      }
      process = done.value.process
      if (done.value.isOutdated)
        warnings.push('its file has changed since it was imported; the new one counts after a restart')
    } catch (error) {
      await takeBack(registrations, id)
      const reason = await reasonOf(error, found)
      entries.failed(found)
      failures.set(id, reason)
      if (clock() - begun >= slowFailureMs) slow.set(id, stamp)
      own.error({ error }, `plugin ${id} cannot be loaded: ${reason}`)
      return
    }
    const loadMs = clock() - begun
    loaded.set(id, { found, registrations, warnings, loadMs, process })
    own.info(
      { version: found.manifest.version, ms: loadMs, registered: registrations.list().length },
      `plugin ${id} loaded`,
    )
  }

  async function run(
    found: FoundPlugin,
    context: PluginContext,
  ): Promise<{ readonly isOutdated: boolean; readonly process?: PluginProcess | undefined }> {
    if (found.language === 'python') {
      if (deps.loadPython === undefined) throw new Error(noPython)
      return { isOutdated: false, process: (await deps.loadPython(found, context)) ?? undefined }
    }
    const { register, isOutdated } = await entries.open(found)
    await register(context)
    return { isOutdated }
  }

  async function unload({ found: { id }, registrations, process }: Loaded): Promise<void> {
    await takeBack(registrations, id)
    await process?.stop()
    loaded.delete(id)
    log.info({ plugin: id }, `plugin ${id} unloaded`)
  }

  async function takeBack(registrations: Registrations, id: string): Promise<void> {
    await registrations.undo()
    await services.daemons.stopped(id)
  }

  /** Each sentence once, until it has gone and comes back. */
  function tell(): void {
    const sentences = [
      ...catalogue.warnings,
      ...troubles()
        .filter(({ id }) => !failures.has(id))
        .map(({ id, reason }) => `plugin ${id} is not loaded: ${reason}`),
      ...list().flatMap(({ id, warnings }) => warnings.map((warning) => `plugin ${id}: ${warning}`)),
    ]
    for (const sentence of sentences) if (!told.has(sentence)) log.warn({}, sentence)
    told.clear()
    for (const sentence of sentences) told.add(sentence)
  }

  function list(): PluginReport[] {
    return reportsOf(catalogue, {
      failure: (id) => failures.get(id),
      loaded(id) {
        const found = loaded.get(id)
        if (found === undefined) return undefined
        const { registrations, warnings, loadMs, process } = found
        const report = { registered: registrations.list(), hooks: services.hooks.report(id), warnings, loadMs }
        if (process === undefined) return { ...report, fault: '' }
        return { ...report, warnings: [...warnings, ...process.doubts()], fault: process.fault() }
      },
    })
  }

  function troubles(): PluginTrouble[] {
    return pluginTroubles(list(), catalogue.isWanted)
  }

  function next(work: () => Promise<void>): Promise<void> {
    queue = queue.then(work).catch((error: unknown) => {
      log.error({ error }, `plugins could not follow the configuration: ${messageOf(error)}`)
    })
    return queue
  }

  return {
    sync: () => next(sync),
    list,
    troubles,
    stop() {
      ending.abort()
      return next(async () => {
        for (const one of [...loaded.values()].reverse()) await unload(one)
      })
    },
  }
}

/** With file and line. */
async function reasonOf(error: unknown, plugin: FoundPlugin): Promise<string> {
  const unloadable = isHermesError(error, 'plugins/unloadable')
  const text = unloadable ? error.detail : messageOf(error)
  return `${await placeOf(unloadable ? error.cause : error, plugin)}: ${text}`
}
