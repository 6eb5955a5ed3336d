/**
 * What a plugin is given: `register(ctx)` is called once when it is loaded, and everything it registers is gone again when
 * it is unloaded, in reverse order (seeds 000, 001, 003; `contract/hermes.md` §2.4).
 *
 * Every registration returns a handle and states how it fails. Names of the contract are camel case here; the keys of
 * payloads stay as the seeds write them.
 */
import type { z } from 'zod'
import type { ToolMode } from '../agent/tools/tool.ts'
import type { LogFields, Logger } from '../lib/log.ts'
import type { Awaitable, FailureMode, Fields, MiddlewareRegistrar, Registration } from '../middleware/contract.ts'
import type { PlatformModule } from '../platforms/adapter.ts'
import type { HookCallback, HookName } from './hook-map.ts'

export interface PluginContext extends MiddlewareRegistrar {
  /** The folder's name, with its category: `observability/otel`. */
  readonly pluginId: string
  /** The plugin's own folder. */
  readonly directory: string
  /** `$HERMES_HOME`, absolute. */
  readonly home: string
  readonly version: string
  readonly log: Logger<LogFields>
  /** `plugins.entries.<id>.settings`, completed with the defaults of the manifest's `config_schema`. */
  readonly config: PluginConfig
  /** JSON that outlives the process, in `$HERMES_HOME/plugin-state/`. */
  readonly state: PluginState
  /** Completions with the configured model, paid and watched like any other. */
  readonly llm: PluginLlm
  hasPlugin(id: string): boolean

  /**
   * Watches or answers at one point of a turn. A callback that throws or takes too long is logged and skipped, unless its
   * registration says `fails: 'closed'`, which only `pre_tool_call` can be: then the tool is blocked.
   * A name nobody emits is kept with a warning.
   */
  registerHook<Name extends HookName>(
    name: Name,
    callback: HookCallback<Name>,
    options?: { readonly fails?: FailureMode; readonly timeoutMs?: number },
  ): Registration
  /**
   * A tool the model may call, for sessions that begin afterwards. Throws `plugins/tool-taken` when the name is taken and
   * `override` is not set, or `plugins.entries.<id>.allow_tool_override` does not allow it.
   */
  registerTool<Schema extends z.ZodType>(tool: PluginTool<Schema>): Registration
  /** A slash command. Throws `plugins/command-taken` when the name belongs to another one. */
  registerCommand(command: PluginCommand): Registration
  /** The adapter of a plugin of kind `platform`; throws `plugins/not-a-platform` in others. */
  registerPlatform(platform: PlatformModule): Registration
  /** A store of long-term memory; in use when `memory.provider` names it. */
  registerMemoryProvider(provider: MemoryProvider): Registration
  /** A part of the system prompt of sessions that begin afterwards, frozen with it. At most 4,000 characters each. */
  registerSystemPromptSection(
    name: string,
    section: string | ((about: PromptSectionContext) => Awaitable<string | null>),
  ): Registration
  /**
   * Work beside the conversations (seed 003): started in the order of registration, stopped in reverse, restarted after a
   * crash. Throws `plugins/daemon-taken` for a name that exists.
   */
  registerBackgroundDaemon(
    name: string,
    startup: () => Awaitable<unknown>,
    shutdown: () => Awaitable<unknown>,
    options?: DaemonOptions,
  ): Registration

  /**
   * Hands in a message as if whoever wrote last in the conversation had written it; one of the role `system` begins with
   * `[system]`, so that the model can tell it apart. Resolves with false where that is not allowed
   * (`plugins.entries.<id>.allow_gateway_injection`) or the session does not exist.
   */
  injectMessage(
    content: string,
    options?: { readonly role?: 'user' | 'system'; readonly sessionKey?: string },
  ): Promise<boolean>
  /**
   * Runs a tool as the agent would, through guardrails, approvals and all: within a turn as a part of it, in its
   * conversation and until its stop; elsewhere, in a command for example, in a conversation of the plugin's own
   * (`session_id` is `plugin:<id>`), where nobody can be asked. Rejects when it is refused.
   */
  dispatchTool(name: string, args: Fields): Promise<string>
  /** Called when the plugin is unloaded, before its registrations are taken back. */
  onUnload(callback: () => Awaitable<unknown>): void
}

export interface PluginConfig {
  get(key: string): unknown
  readonly all: Fields
}

/** Values are JSON. Every method rejects with a system error when the disk refuses. */
export interface PluginState {
  get(key: string): Promise<unknown>
  set(key: string, value: unknown): Promise<void>
  delete(key: string): Promise<void>
  keys(): Promise<readonly string[]>
}

export interface PluginLlm {
  /** One answer without tools; within a turn until its stop. Rejects with `ModelError`, or with the signal's reason. */
  complete(prompt: string | readonly Fields[], options?: LlmOptions): Promise<LlmResult>
}

export interface LlmOptions {
  readonly system?: string
  /** Allowed only where `plugins.entries.<id>.llm.allow_model_override` says so. */
  readonly model?: string
  readonly maxOutputTokens?: number
  readonly signal?: AbortSignal
}

export interface LlmResult {
  readonly text: string
  readonly model: string
  readonly usage: Fields
}

export interface PluginTool<Schema extends z.ZodType = z.ZodType> {
  readonly name: string
  /** The plugin's id if left out. */
  readonly toolset?: string
  readonly description: string
  /** A zod schema, or JSON Schema of the arguments. */
  readonly parameters: Schema | Fields
  /** `effect` if left out: never run twice. */
  readonly mode?: ToolMode
  /** Takes the place of a tool of the same name. */
  readonly override?: boolean
  check?(): Awaitable<boolean>
  /** Returns what the model reads: a text, or anything that becomes JSON. A throw becomes `{"error": …}`. */
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
  /** Shown after the name: `[topic]`. */
  readonly argsHint?: string
  /** Returns the reply, markdown; null replies nothing. After 60 s nobody waits for it, and the signal aborts. */
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
  /** 5,000 if left out. */
  readonly shutdownTimeoutMs?: number
}

export interface PeriodicTask {
  readonly name: string
  /** From the end of one run to the beginning of the next; above 0, also months. */
  readonly intervalMs: number
  /** Also at once, after the startup. False if left out. */
  readonly runAtStart?: boolean
  run(signal: AbortSignal): Awaitable<unknown>
}

/** Seed 004: one store of long-term memory beside the agent's own. */
export interface MemoryProvider {
  readonly name: string
  /** Before the first model call of a turn; what it returns is added to the user's message for this turn only. */
  prefetch?(query: string, about: MemoryContext): Awaitable<string | null>
  /** After a turn that was answered. Never delays the reply. */
  syncTurn?(user: string, assistant: string, about: MemoryContext): Awaitable<unknown>
  /** A part of the system prompt of new sessions. */
  systemPromptBlock?(about: MemoryContext): Awaitable<string | null>
  /** Before context is compressed: insights for the summary. */
  onPreCompress?(messages: readonly Fields[], about: MemoryContext): Awaitable<string | null>
  shutdown?(): Awaitable<unknown>
}

export interface MemoryContext {
  readonly sessionId: string
  readonly platform: string
  readonly userId: string
}

/** What `index.ts` exports. */
export interface PluginModule {
  register(context: PluginContext): Awaitable<unknown>
}

/** Types the function a plugin exports. */
export type Register = PluginModule['register']
