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
  McpCallResult,
  PluginCommand,
  PluginConfig,
  PluginContext,
  PluginState,
  PluginTool,
} from './contract.ts'
import type { DiscoveredPlugin } from './discovery.ts'
import type { PluginHooks } from './hooks/plugin-hooks.ts'
import type { MemoryProvider } from './memory-provider.ts'
import { afterNotifications } from './notification-order.ts'
import type { PluginEnvironments } from './plugin-environments.ts'
import type { PluginSkills } from './plugin-skills.ts'
import type { Registrations } from './registrations.ts'

type DaemonArguments = Parameters<PluginContext['registerBackgroundDaemon']>
type SectionArguments = Parameters<PluginContext['registerSystemPromptSection']>

/** The services that plugins use. The first argument of each method is the plugin's id. */
export interface PluginServices {
  /** `$HERMES_HOME`, absolute. */
  readonly home: string
  readonly middleware: { forPlugin(plugin: string): MiddlewareRegistrar }
  readonly hooks: Pick<PluginHooks, 'register' | 'report' | 'notificationsBegun'>
  /** `run` is called instead of `run` of the tool. */
  readonly tools: {
    register(owner: string, tool: PluginTool, run: PluginTool['run']): Registration
    /** Throws as `register` does. Names that the plugin itself has registered are free. */
    check(owner: string, tool: PluginTool): void
  }
  readonly commands: {
    register(owner: string, command: PluginCommand, run: PluginCommand['run']): Registration
    /** Throws as `register` does. Names that the plugin itself has registered are free. */
    check(owner: string, command: PluginCommand): void
  }
  readonly memory: { register(owner: string, provider: MemoryProvider): Registration }
  readonly environments: Pick<PluginEnvironments, 'register'>
  readonly sections: { register(owner: string, ...section: SectionArguments): Registration }
  readonly skills: Pick<PluginSkills, 'register'>
  readonly daemons: {
    register(owner: string, ...daemon: DaemonArguments): Registration
    /** Resolves when the removed daemons of a plugin have stopped. Never rejects. */
    stopped(owner: string): Promise<void>
  }
  state(owner: string): PluginState
  /** Works like `PluginLlm.complete`. */
  complete(owner: string, ...request: Parameters<PluginContext['llm']['complete']>): Promise<LlmResult>
  /** Works like `PluginContext.injectMessage`. */
  injectMessage(owner: string, ...message: Parameters<PluginContext['injectMessage']>): Promise<boolean>
  /** Works like `PluginContext.dispatchTool`. */
  dispatchTool(owner: string, ...call: Parameters<PluginContext['dispatchTool']>): Promise<string>
  /** Works like `PluginContext.callMcp`. */
  callMcp(owner: string, ...call: Parameters<PluginContext['callMcp']>): Promise<McpCallResult>
}

export interface PluginContextDeps {
  readonly plugin: DiscoveredPlugin
  readonly services: PluginServices
  readonly registrations: Registrations
  readonly config: PluginConfig
  hasPlugin(id: string): boolean
  /** All variables, with those of `.env`. */
  environment(): Readonly<Record<string, string>>
  /** Traces the calls of callbacks. */
  readonly observe?: ObserveCallback | undefined
  /** The logger of the plugin. */
  readonly log: Logger<LogFields>
}

export function createPluginContext(deps: PluginContextDeps): PluginContext {
  const { plugin, services, registrations, config, log } = deps
  const { id } = plugin
  // The calls of the agent have the types that plugins see; the middleware itself knows no models.
  const registrar: Pick<PluginContext, keyof MiddlewareRegistrar> = services.middleware.forPlugin(id)
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
    env(name) {
      const { requiresEnv, optionalEnv } = plugin.manifest
      if (!requiresEnv.includes(name) && !optionalEnv.includes(name)) return undefined
      return deps.environment()[name] || undefined
    },

    registerGuardrail(name, on, guardrail, options) {
      const callback = checkCallback('guardrail', name, guardrail)
      return add('guardrail', name, () => registrar.registerGuardrail(name, on, callback, options))
    },
    registerIntercept(name, point, intercept, options) {
      const callback = checkCallback('intercept', name, intercept)
      return add('intercept', name, () => registrar.registerIntercept(name, point, callback, options))
    },
    registerSanitizer(name, point, sanitizer, options) {
      const callback = checkCallback('sanitizer', name, sanitizer)
      return add('sanitizer', name, () => registrar.registerSanitizer(name, point, callback, options))
    },
    registerSubscriber(name, subscriber, options) {
      const callback = checkCallback('subscriber', name, subscriber)
      return add('subscriber', name, () => registrar.registerSubscriber(name, callback, options))
    },
    registerMiddleware(kind, middleware, options) {
      const checked = checkCallback('middleware', kind, middleware)
      const wrapsModel = kind === 'llm_execution' || kind === 'api_execution'
      const callback = wrapsModel ? afterNotifications(services.hooks, id, checked) : checked
      return add('middleware', kind, () => registrar.registerMiddleware(kind, callback, options))
    },

    registerHook(name, hook, options) {
      const callback = checkCallback('hook', name, hook)
      return add('hook', name, () => services.hooks.register(id, name, callback, options))
    },
    registerTool(tool) {
      const run: PluginTool['run'] = checkCallback('tool', tool.name, tool.run)
      return add(
        'tool',
        tool.name,
        () => services.tools.register(id, tool, (args, context) => run.call(tool, args, context)),
        () => services.tools.check(id, tool),
      )
    },
    registerCommand(command) {
      const run = checkCallback('command', command.name, command.run)
      return add(
        'command',
        command.name,
        () => services.commands.register(id, command, (args, context) => run.call(command, args, context)),
        () => services.commands.check(id, command),
      )
    },
    registerPlatform: () => {
      throw new HermesError('plugins/not-a-platform', `(${id})`)
    },
    registerMemoryProvider: (provider) => add('memory', provider.name, () => services.memory.register(id, provider)),
    registerEnvironment(name, given) {
      const kind = typeof given === 'function' ? { create: given } : given
      const create = checkCallback('environment', name, kind.create)
      return add('environment', name, () => services.environments.register(id, name, { ...kind, create }))
    },
    registerSystemPromptSection(name, section) {
      const content = typeof section === 'function' ? checkCallback('section', name, section) : section
      return add('section', name, () => services.sections.register(id, name, content))
    },
    registerSkill: (name, path, description = '') =>
      add('skill', name, () => services.skills.register(id, plugin.directory, { name, path, description })),
    registerBackgroundDaemon(name, startup, shutdown, options) {
      const start = checkCallback('daemon', `${name} (startup)`, startup)
      const stop = checkCallback('daemon', `${name} (shutdown)`, shutdown)
      return add('daemon', name, () => services.daemons.register(id, name, start, stop, options))
    },

    injectMessage: (content, options) => ifLoaded(() => services.injectMessage(id, content, options)),
    dispatchTool: (name, args) => ifLoaded(() => services.dispatchTool(id, name, args)),
    callMcp: (...call) => ifLoaded(() => services.callMcp(id, ...call)),
    onUnload: registrations.onUnload,
  }
}
