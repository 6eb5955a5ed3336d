/**
 * The API of plugins. `register(ctx)` is called once when a plugin is loaded; all registrations are removed in reverse
 * order when it is unloaded (seeds 000, 001, 003; `contract/hermes.md` §2.4).
 *
 * Each registration returns a handle. Names of the contract are in camel case here; payload keys stay as in the seeds.
 */

import type { z } from 'zod'
import type { EnvironmentFactory, EnvironmentKind } from '../agent/environments/kind.ts'
import type { LogFields, Logger } from '../lib/log.ts'
import type { ToolMode } from '../message/transcript.ts'
import type {
  Awaitable,
  ExecutionOptions,
  FailureMode,
  Fields,
  InterceptOptions,
  MiddlewareRegistrar,
  Registration,
  RegistrationOptions,
} from '../middleware/contract.ts'
import type { PlatformModule } from '../platforms/adapter.ts'
import type { HookCallback, HookName } from './hook-map.ts'
import type { MemoryProvider } from './memory-provider.ts'
import type { PluginGuardrails, PluginIntercepts, PluginMiddlewareKinds } from './model-call-types.ts'

export interface PluginContext extends MiddlewareRegistrar {
  /** The name of the folder, with its category: `observability/otel`. */
  readonly pluginId: string
  /** The folder of the plugin. */
  readonly directory: string
  /** `$HERMES_HOME`, absolute. */
  readonly home: string
  readonly version: string
  readonly log: Logger<LogFields>
  /** `plugins.entries.<id>.settings` with the defaults of `config_schema` in the manifest. */
  readonly config: PluginConfig
  /** Persistent JSON values, in `$HERMES_HOME/plugin-state/`. */
  readonly state: PluginState
  /** Completions of the configured model; they pass through middleware as all other model requests. */
  readonly llm: PluginLlm
  hasPlugin(id: string): boolean
  /** The environment variable, if `requires_env` or `optional_env` of the manifest names it, and it is not empty. */
  env(name: string): string | undefined

  /** Works like the method of `MiddlewareRegistrar`; `call.apiMode` tells the type of the request. */
  registerGuardrail<On extends keyof PluginGuardrails>(
    name: string,
    on: On,
    guardrail: PluginGuardrails[On],
    options?: RegistrationOptions,
  ): Registration
  /** Works like the method of `MiddlewareRegistrar`; requests, chunks and responses have the types of the API mode. */
  registerIntercept<Point extends keyof PluginIntercepts>(
    name: string,
    point: Point,
    intercept: PluginIntercepts[Point],
    options?: InterceptOptions,
  ): Registration
  /** Works like the method of `MiddlewareRegistrar`; `api_mode` tells the types of the request and of the response. */
  registerMiddleware<Kind extends keyof PluginMiddlewareKinds>(
    kind: Kind,
    callback: PluginMiddlewareKinds[Kind],
    options?: ExecutionOptions,
  ): Registration

  /**
   * Registers a callback for a hook. A callback that throws or times out is logged and skipped. With `fails: 'closed'`,
   * which only `pre_tool_call` supports, the tool call is blocked instead. Unknown names are accepted with a warning.
   */
  registerHook<Name extends HookName>(
    name: Name,
    callback: HookCallback<Name>,
    options?: { readonly fails?: FailureMode; readonly timeoutMs?: number },
  ): Registration
  /**
   * Registers a tool for the model, in sessions that start afterwards. Throws `plugins/tool-taken` if the name is in use,
   * unless `override` is set and `plugins.entries.<id>.allow_tool_override` allows it.
   */
  registerTool<Schema extends z.ZodType>(tool: PluginTool<Schema>): Registration
  /** Registers a slash command. Throws `plugins/command-taken` if the name is in use. */
  registerCommand(command: PluginCommand): Registration
  /** Registers the adapter of a plugin of kind `platform`; throws `plugins/not-a-platform` in other plugins. */
  registerPlatform(platform: PlatformModule): Registration
  /** Registers a long-term memory; it is used if `memory.provider` names it. */
  registerMemoryProvider(provider: MemoryProvider): Registration
  /**
   * Registers an environment in which commands and file tools work; it is used if `terminal.backend` is this name. Throws
   * `plugins/environment-taken` if the name is in use.
   * @param kind what creates the environment of a conversation, alone or with `check` and `recover`
   */
  registerEnvironment(name: string, kind: EnvironmentFactory | EnvironmentKind): Registration
  /** Adds a section of at most 4,000 characters to the system prompt of sessions that start afterwards. */
  registerSystemPromptSection(
    name: string,
    section: string | ((context: PromptSectionContext) => Awaitable<string | null>),
  ): Registration
  /**
   * Registers a skill as `<plugin>:<name>`. It is read when the agent or a person names it, and is not in the index of the
   * prompt. `path` is its folder or its SKILL.md, absolute or relative to the folder of the plugin.
   */
  registerSkill(name: string, path: string, description?: string): Registration
  /**
   * Registers a background daemon (seed 003). Daemons are started in the order of registration, stopped in reverse order
   * and restarted after a failure. Throws `plugins/daemon-taken` if the name is in use.
   */
  registerBackgroundDaemon(
    name: string,
    startup: () => Awaitable<unknown>,
    shutdown: () => Awaitable<unknown>,
    options?: DaemonOptions,
  ): Registration

  /**
   * Adds a message to a session, on behalf of the user who wrote last in it. A message with role `system` starts with
   * `[system]`, so that the model can distinguish it. Resolves with false if the configuration does not allow it
   * (`plugins.entries.<id>.allow_gateway_injection`) or if the session does not exist.
   */
  injectMessage(
    content: string,
    options?: { readonly role?: 'user' | 'system'; readonly sessionKey?: string },
  ): Promise<boolean>
  /**
   * Runs a tool as the agent does, including guardrails and approvals. During a turn the call belongs to the turn and is
   * aborted with it. Elsewhere, for example in a command, it runs in a session of the plugin (`session_id` is
   * `plugin:<id>`), in which approvals cannot be requested. Rejects if the call is denied.
   */
  dispatchTool(name: string, args: Fields): Promise<string>
  /**
   * Calls a tool of an MCP server that `plugins.entries.<id>.mcp_allowlist` names, as `dispatchTool` runs tools. `timeout` is in
   * seconds, 1 to 600; 30 without it. Rejects `plugins/not-allowed` for every other server, and if the call is denied.
   */
  callMcp(server: string, tool: string, args?: Fields, options?: { readonly timeout?: number }): Promise<McpCallResult>
  /** Registers a callback that is called before the registrations of the plugin are removed. */
  onUnload(callback: () => Awaitable<unknown>): void
}

export interface PluginConfig {
  get(key: string): unknown
  readonly all: Fields
}

/** Values are JSON. All methods reject with a system error if the file cannot be read or written. */
export interface PluginState {
  get(key: string): Promise<unknown>
  set(key: string, value: unknown): Promise<void>
  delete(key: string): Promise<void>
  keys(): Promise<readonly string[]>
}

export interface PluginLlm {
  /** One completion without tools; during a turn it is aborted with the turn. Rejects with `ModelError` or the reason of the signal. */
  complete(prompt: string | readonly Fields[], options?: LlmOptions): Promise<LlmResult>
}

export interface LlmOptions {
  readonly system?: string | undefined
  /** Requires `plugins.entries.<id>.llm.allow_model_override`. */
  readonly model?: string | undefined
  readonly maxOutputTokens?: number | undefined
  readonly signal?: AbortSignal
}

export interface LlmResult {
  readonly text: string
  readonly model: string
  readonly usage: Fields
}

export interface PluginTool<Schema extends z.ZodType = z.ZodType> {
  readonly name: string
  /** The plugin's id by default. */
  readonly toolset?: string
  readonly description: string
  /** A zod schema or JSON Schema of the arguments. */
  readonly parameters: Schema | Fields
  /** `effect` by default: the call is never repeated. */
  readonly mode?: ToolMode
  /** Replaces a tool of the same name. */
  readonly override?: boolean
  /** Whether calls may run at the same time as others of this kind: it only reads. */
  readonly runsInParallel?: boolean
  /** Toolsets of platforms that do not have the tool, although they have those of plugins: `hermes-acp` for editors. */
  readonly leftOutOf?: readonly string[]
  check?(): Awaitable<boolean>
  /** What a call works on, for people: `ls -la`. The gateway makes one line of it. Without it only the name is shown. */
  label?(args: z.output<Schema>): string
  /**
   * What came of a call, for people, in a few words: `3 of 5 sent`. `result` is the object that `run` returned. Must be fast. Without
   * it the gateway makes a line of the fields of the result.
   */
  summarize?(result: Fields, args: z.output<Schema>): string
  /** Returns the result for the model: a text, or a value that is converted to JSON. An error becomes `{"error": …}`. */
  run(args: z.output<Schema>, context: PluginToolContext): Awaitable<unknown>
}

export interface PluginToolContext {
  readonly sessionId: string
  readonly turnId: string
  readonly toolCallId: string
  readonly signal: AbortSignal
  readonly log: Logger<LogFields>
}

export interface PluginCommand {
  /** Lower case, without the slash. */
  readonly name: string
  readonly description: string
  /** Displayed after the name: `[topic]`. */
  readonly argsHint?: string
  /** Returns the reply in Markdown, or null for no reply. Times out after 60 s; the signal then aborts. */
  run(args: string, context: PluginCommandContext): Awaitable<string | null | undefined>
}

export interface PluginCommandContext {
  readonly platform: string
  readonly userId: string
  readonly sessionKey: string
  readonly signal: AbortSignal
}

export interface PromptSectionContext {
  readonly sessionId: string
  readonly platform: string
}

export interface DaemonOptions {
  readonly periodicTask?: PeriodicTask
  /** 5,000 by default. */
  readonly shutdownTimeoutMs?: number
}

export interface PeriodicTask {
  readonly name: string
  /** From the end of one run to the start of the next; above 0, without an upper limit. */
  readonly intervalMs: number
  /** The task runs immediately after the startup as well. False by default. */
  readonly runAtStart?: boolean
  run(signal: AbortSignal): Awaitable<unknown>
}

/** The exports of `index.ts`. */
export interface PluginModule {
  register(context: PluginContext): Awaitable<unknown>
}

/** The type of the function that a plugin exports. */
export type Register = PluginModule['register']

/** The result of a tool of an MCP server. `truncated`: it was longer than 65,536 characters. */
export type McpCallResult =
  | {
      readonly ok: true
      readonly result: unknown
      readonly structuredContent?: unknown
      readonly truncated?: true
    }
  | { readonly ok: false; readonly error: unknown; readonly truncated?: true }
