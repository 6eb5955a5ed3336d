/**
 * Loads one plugin: imports its entry, calls `register`, and removes all registrations again when this fails.
 */
import { isHermesError, messageOf } from '../lib/errors.ts'
import { type FileFingerprints, fingerprintsOf } from '../lib/file-memo.ts'
import type { Logger } from '../lib/log.ts'
import { withTimeout } from '../lib/timers.ts'
import { type ObserveCallback, observeAsPlugin, type RunAsPlugin } from './callback-trace.ts'
import { configEntryOf, type PluginsConfig } from './config.ts'
import { createPluginContext, type PluginServices } from './context.ts'
import type { PluginContext, Register } from './contract.ts'
import type { DiscoveredPlugin, PluginRoot } from './discovery.ts'
import type { EntryImporter } from './entry-importer.ts'
import { locateError } from './error-location.ts'
import { createPluginConfig, settingIssues } from './plugin-config.ts'
import { createRegistrations, type Registrations } from './registrations.ts'

/** Runs `register` of a plugin in Python after its turn; resolves when it has returned. */
export type LoadPython = (
  plugin: DiscoveredPlugin,
  context: PluginContext,
  turn: Promise<void>,
  // biome-ignore lint/suspicious/noConfusingVoidType: a loader without anything to dispose returns nothing
) => Promise<PluginProcess | void>

export interface PluginLoaderDeps {
  /** The bundled plugins first. */
  readonly roots: readonly PluginRoot[]
  settings(): PluginsConfig
  readonly services: PluginServices
  /** Without it plugins in Python cannot be loaded. */
  readonly loadPython?: LoadPython | undefined
  /** All variables, with those of `.env`. */
  environment(): Readonly<Record<string, string>>
  /** Traces the calls of callbacks. */
  readonly observe?: ObserveCallback | undefined
  /** Runs `register` and every callback of a plugin. */
  readonly runAsPlugin?: RunAsPlugin | undefined
  /** Timeout of `register`, ms; 10,000 by default. */
  readonly registerTimeoutMs?: number | undefined
  readonly clock: () => number
  readonly log: Logger
}

/** The process of a plugin that does not run in the gateway process. */
export interface PluginProcess {
  /** Why its callbacks are not called any more; '' while it works. */
  failureReason(): string
  /** One sentence each. */
  warnings(): readonly string[]
  /** Stops the process after all registrations were removed. Never rejects. */
  stop(): Promise<void>
}

export interface LoadedPlugin {
  readonly found: DiscoveredPlugin
  /** The fingerprints of the manifest and the entry at the time of loading. */
  readonly fingerprints: FileFingerprints
  readonly registrations: Registrations
  /** Why the newest version is not active; '' if it is. */
  readonly problem: string
  readonly warnings: readonly string[]
  readonly loadMs: number
  readonly process: PluginProcess | undefined
  /** The function that was run; undefined for a plugin in Python. */
  readonly register: Register | undefined
}

export interface LoadOptions {
  readonly importer: EntryImporter
  hasPlugin(id: string): boolean
  /** Runs this function instead of that of the entry, to restore a version that was loaded before. */
  readonly register?: Register | undefined
  /** The loaded version. Its registrations stay in force until those of the new version replace them. */
  readonly previous?: LoadedPlugin | undefined
  /** Resolves when all plugins before this one are loaded. Until then a process may start, but registers nothing. */
  readonly turn?: Promise<void> | undefined
  /** Aborts when the gateway stops. */
  readonly signal: AbortSignal
}

const defaultRegisterTimeoutMs = 10_000

/**
 * Rejects with the error of the plugin; by then its registrations are removed, and those of a previous version are still in
 * force. The `onUnload` callbacks of a previous version were called before, so that both versions can use the same timers and
 * ports; those of a plugin in Python, which has a process of its own, are called after the new version is loaded.
 */
export async function loadPlugin(
  deps: PluginLoaderDeps,
  plugin: DiscoveredPlugin,
  { importer, hasPlugin, register: givenRegister, previous, turn = Promise.resolve(), signal }: LoadOptions,
): Promise<LoadedPlugin> {
  const { id, entryFile, manifest } = plugin
  const { services, clock } = deps
  const startedAt = clock()
  const fingerprints = fingerprintsOf([plugin.manifestFile, entryFile])
  const log = deps.log.child({ plugin: id })
  const registrations = createRegistrations(id, deps.log, { staged: previous !== undefined })
  const entry = () => configEntryOf(deps.settings(), id)
  const warnings = [...settingIssues(manifest.configSchema, entry().settings)]
  const context = createPluginContext({
    plugin: plugin,
    services,
    registrations,
    config: createPluginConfig(manifest.configSchema, () => entry().settings),
    hasPlugin,
    environment: deps.environment,
    observe: observeAsPlugin(id, deps.observe, deps.runAsPlugin),
    log,
  })
  let process: PluginProcess | undefined
  try {
    const register = givenRegister ?? (plugin.language === 'python' ? undefined : await importer.importEntry(plugin))
    if (plugin.language !== 'python') await previous?.registrations.runUnloadCallbacks()
    process = await registerWithTimeout(deps, plugin, context, register, { turn, signal })
    if (previous !== undefined) await replacePrevious(deps, previous, registrations)
    warnings.push(...undeclaredHookWarnings(plugin, registrations))
    const loadMs = clock() - startedAt
    log.info(
      { event: 'plugin.loaded', version: manifest.version, ms: loadMs, registered: registrations.list().length },
      'plugin loaded',
    )
    return { found: plugin, fingerprints, registrations, problem: '', warnings, loadMs, process, register }
  } catch (error) {
    await disposeRegistrations(services, registrations, id)
    await process?.stop()
    throw error
  }
}

/** Messages do not wait for a plugin that is still loading if its manifest excludes that it decides about them. */
function undeclaredHookWarnings(
  { manifest: { providesHooks } }: DiscoveredPlugin,
  registrations: Registrations,
): string[] {
  const name = 'pre_gateway_dispatch'
  const isRegistered = registrations.list().some((item) => item.kind === 'hook' && item.name === name)
  if (!isRegistered || providesHooks === undefined || providesHooks.includes(name)) return []
  return [`provides_hooks in plugin.yaml does not contain ${name}, so messages do not wait while the plugin is loading`]
}

async function replacePrevious(
  { services, log }: PluginLoaderDeps,
  previous: LoadedPlugin,
  registrations: Registrations,
): Promise<void> {
  const { id } = previous.found
  await previous.registrations.runUnloadCallbacks()
  registrations.replace(previous.registrations)
  // Daemons of the previous version end in its process.
  await services.daemons.stopped(id)
  await previous.process?.stop()
  log.info({ event: 'plugin.unloaded', plugin: id }, 'plugin unloaded')
}

async function registerWithTimeout(
  deps: PluginLoaderDeps,
  plugin: DiscoveredPlugin,
  context: PluginContext,
  register: Register | undefined,
  { turn, signal }: { readonly turn: Promise<void>; readonly signal: AbortSignal },
): Promise<PluginProcess | undefined> {
  const { registerTimeoutMs = defaultRegisterTimeoutMs, runAsPlugin = (_id, work) => work() } = deps
  const registering = runAsPlugin(plugin.id, () => runRegister(deps, plugin, context, register, turn))
  // A process that fails before its turn is reported in its turn.
  const failedEarly = registering.then(
    () => turn,
    () => turn,
  )
  await Promise.race([turn, failedEarly])
  const result = await withTimeout(registering, registerTimeoutMs, signal)
  if (result.done) return result.value
  registering.catch((error: unknown) =>
    context.log.debug({ event: 'plugin.register_failed_late', err: error }, 'register failed after its timeout'),
  )
  throw new Error(signal.aborted ? 'the gateway stops' : `register did not end within ${registerTimeoutMs} ms`)
}

async function runRegister(
  { loadPython }: PluginLoaderDeps,
  plugin: DiscoveredPlugin,
  context: PluginContext,
  register: Register | undefined,
  turn: Promise<void>,
): Promise<PluginProcess | undefined> {
  if (register === undefined) {
    if (loadPython === undefined) throw new Error('this gateway cannot run plugins in Python')
    return (await loadPython(plugin, context, turn)) ?? undefined
  }
  await register(context)
  return undefined
}

export async function unloadPlugin(
  { services, log }: Pick<PluginLoaderDeps, 'services' | 'log'>,
  { found: { id }, registrations, process }: LoadedPlugin,
): Promise<void> {
  await disposeRegistrations(services, registrations, id)
  await process?.stop()
  log.info({ event: 'plugin.unloaded', plugin: id }, 'plugin unloaded')
}

async function disposeRegistrations(services: PluginServices, registrations: Registrations, id: string): Promise<void> {
  await registrations.dispose()
  await services.daemons.stopped(id)
}

/** Why a plugin cannot be loaded, with file and line. */
export async function failureReasonOf(error: unknown, plugin: DiscoveredPlugin): Promise<string> {
  const isUnloadable = isHermesError(error, 'plugins/unloadable')
  const text = isUnloadable ? error.detail : messageOf(error)
  return `${await locateError(isUnloadable ? error.cause : error, plugin)}: ${text}`
}
