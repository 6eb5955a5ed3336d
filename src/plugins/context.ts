/**
 * Creates the `ctx` that `register` of a plugin receives, and tracks everything that the plugin registers.
 */
import { HermesError } from '../lib/errors.ts'
import type { LogFields, Logger } from '../lib/log.ts'
import type { MiddlewareRegistrar, Registration } from '../middleware/contract.ts'
import type { ObserveCallback } from './callback-trace.ts'
import type {
  LlmOptions,
  LlmResult,
  MemoryProvider,
  PluginCommand,
  PluginConfig,
  PluginContext,
  PluginState,
  PluginTool,
} from './contract.ts'
import type { DiscoveredPlugin } from './discovery.ts'
import type { HookCallback, HookName } from './hook-map.ts'
import type { PluginHookReport } from './hooks/plugin-hooks.ts'
import type { Registrations } from './registrations.ts'

type HookOptions = Parameters<PluginContext['registerHook']>[2]
type DaemonArguments = Parameters<PluginContext['registerBackgroundDaemon']>
type SectionArguments = Parameters<PluginContext['registerSystemPromptSection']>

/** The services that plugins use. The first argument of each method is the plugin's id. */
export interface PluginServices {
  /** `$HERMES_HOME`, absolute. */
  readonly home: string
  readonly middleware: { forPlugin(plugin: string): MiddlewareRegistrar }
  readonly hooks: {
    register<Name extends HookName>(
      owner: string,
      name: Name,
      callback: HookCallback<Name>,
      options?: HookOptions,
    ): Registration
    report(owner: string): readonly PluginHookReport[]
  }
  /** `run` is called instead of `run` of the tool. */
  readonly tools: { register(owner: string, tool: PluginTool, run: PluginTool['run']): Registration }
  readonly commands: { register(owner: string, command: PluginCommand, run: PluginCommand['run']): Registration }
  readonly memory: { register(owner: string, provider: MemoryProvider): Registration }
  readonly sections: { register(owner: string, ...section: SectionArguments): Registration }
  readonly daemons: {
    register(owner: string, ...daemon: DaemonArguments): Registration
    /** Resolves when the removed daemons of a plugin have stopped. Never rejects. */
    stopped(owner: string): Promise<void>
  }
  state(owner: string): PluginState
  /** As `PluginLlm.complete`. */
  complete(owner: string, ...request: Parameters<PluginContext['llm']['complete']>): Promise<LlmResult>
  /** As `PluginContext.injectMessage`. */
  injectMessage(owner: string, ...message: Parameters<PluginContext['injectMessage']>): Promise<boolean>
  /** As `PluginContext.dispatchTool`. */
  dispatchTool(owner: string, ...call: Parameters<PluginContext['dispatchTool']>): Promise<string>
}

export interface PluginContextDeps {
  readonly plugin: DiscoveredPlugin
  readonly services: PluginServices
  readonly registrations: Registrations
  readonly config: PluginConfig
  hasPlugin(id: string): boolean
  /** Traces the calls of callbacks. */
  readonly observe?: ObserveCallback | undefined
  /** The logger of the plugin. */
  readonly log: Logger<LogFields>
}

export function createPluginContext(deps: PluginContextDeps): PluginContext {
  const { plugin, services, registrations, config, log } = deps
  const { id } = plugin
  const registrar = services.middleware.forPlugin(id)
  const state = services.state(id)

  /** Rejects values that are not functions at the registration, where the stack trace points to the plugin. */
  function checkCallback<Fn extends (...args: never[]) => unknown>(kind: string, name: string, callback: Fn): Fn {
    if (typeof callback !== 'function') {
      throw new HermesError(
        'plugins/invalid-registration',
        `${kind} ${name}: expected a function, found ${typeof callback}`,
      )
    }
    return deps.observe === undefined ? callback : deps.observe(kind, name, callback)
  }

  async function ifLoaded<Value>(operation: () => Promise<Value>): Promise<Value> {
    if (!registrations.isOpen()) throw new HermesError('plugins/unloaded', `(${id})`)
    return await operation()
  }

  const { add } = registrations
  return {
    pluginId: id,
    directory: plugin.directory,
    home: services.home,
    version: plugin.manifest.version,
    log,
    config,
    state,
    llm: { complete: (prompt, options?: LlmOptions) => ifLoaded(() => services.complete(id, prompt, options)) },
    hasPlugin: deps.hasPlugin,

    registerGuardrail: (name, on, guardrail, options) =>
      add('guardrail', () =>
        registrar.registerGuardrail(name, on, checkCallback('guardrail', name, guardrail), options),
      ),
    registerIntercept: (name, point, intercept, options) =>
      add('intercept', () =>
        registrar.registerIntercept(name, point, checkCallback('intercept', name, intercept), options),
      ),
    registerSanitizer: (name, point, sanitizer, options) =>
      add('sanitizer', () =>
        registrar.registerSanitizer(name, point, checkCallback('sanitizer', name, sanitizer), options),
      ),
    registerSubscriber: (name, subscriber) =>
      add('subscriber', () => registrar.registerSubscriber(name, checkCallback('subscriber', name, subscriber))),
    registerMiddleware: (kind, callback, options) =>
      add('middleware', () => registrar.registerMiddleware(kind, checkCallback('middleware', kind, callback), options)),

    registerHook: (name, callback, options) =>
      add('hook', () => services.hooks.register(id, name, checkCallback('hook', name, callback), options)),
    registerTool: (tool) =>
      add('tool', () => {
        const run: PluginTool['run'] = checkCallback('tool', tool.name, tool.run)
        return services.tools.register(id, tool, (args, context) => run.call(tool, args, context))
      }),
    registerCommand: (command) =>
      add('command', () => {
        const run = checkCallback('command', command.name, command.run)
        return services.commands.register(id, command, (args, context) => run.call(command, args, context))
      }),
    registerPlatform: () => {
      throw new HermesError('plugins/not-a-platform', `(${id})`)
    },
    registerMemoryProvider: (provider) => add('memory', () => services.memory.register(id, provider)),
    registerSystemPromptSection: (name, section) =>
      add('section', () =>
        services.sections.register(
          id,
          name,
          typeof section === 'function' ? checkCallback('section', name, section) : section,
        ),
      ),
    registerBackgroundDaemon: (name, startup, shutdown, options) =>
      add('daemon', () =>
        services.daemons.register(
          id,
          name,
          checkCallback('daemon', `${name} (startup)`, startup),
          checkCallback('daemon', `${name} (shutdown)`, shutdown),
          options,
        ),
      ),

    injectMessage: (content, options) => ifLoaded(() => services.injectMessage(id, content, options)),
    dispatchTool: (name, args) => ifLoaded(() => services.dispatchTool(id, name, args)),
    onUnload: registrations.onUnload,
  }
}
