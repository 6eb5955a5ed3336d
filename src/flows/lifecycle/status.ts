/**
 * What `hermes status` and `/readyz` show of a running gateway.
 */
import { execFile } from 'node:child_process'
import type { AgentConfig } from '../../agent/config.ts'
import type { Engine } from '../../engine/engine.ts'
import { type UnhealthyHook, unhealthyHooks } from '../../hooks/hook-status.ts'
import type { HookRegistry } from '../../hooks/registry.ts'
import type { SecretRegistry } from '../../lib/redact.ts'
import type { Middleware } from '../../middleware/managed-call.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import type { Supervisor } from '../../platforms/supervisor.ts'
import type { Daemons } from '../../plugins/daemons/daemons.ts'
import type { PluginFailure } from '../../plugins/plugin-report.ts'
import type { Runtime } from '../../store/runtime.ts'
import type { PluginManager } from '../plugins/plugin-manager.ts'
import type { BackgroundTasks, OpenTask } from '../tasks/background-tasks.ts'
import type { AgentServices } from '../tools/agent-services.ts'
import type { GatewayProblems } from './problems.ts'

export type GatewayPhase = 'starting' | 'ready' | 'draining'

export interface DaemonReport {
  readonly name: string
  /** The plugin's id. */
  readonly owner: string
  readonly state: string
  readonly restarts: number
  /** Why it failed last; '' when it never did. */
  readonly reason: string
}

export interface GatewayStatusReport {
  readonly version: string
  readonly pid: number
  readonly home: string
  readonly url: string
  readonly status: GatewayPhase
  readonly uptimeMs: number
  readonly model: string
  readonly provider: string
  readonly platforms: Readonly<
    Record<string, { readonly state: string; readonly reason?: string; readonly receiving?: boolean }>
  >
  readonly degraded: readonly string[]
  readonly pendingRestart: readonly string[]
  readonly turns: { readonly running: number; readonly waiting: number }
  readonly background: readonly OpenTask[]
  /** Only those that are unhealthy. */
  readonly hooks: readonly UnhealthyHook[]
  /** Only those that failed. */
  readonly plugins: readonly PluginFailure[]
  /** Background work of plugins. */
  readonly daemons: readonly DaemonReport[]
}

interface StatusGateway extends Pick<Runtime, 'home' | 'clock'> {
  readonly options: { readonly version: string }
  /** `startedAt`: when the start began. */
  readonly lifecycle: { readonly phase: GatewayPhase; readonly startedAt: number }
  readonly platforms: Pick<Supervisor, 'health'>
  readonly problems: Pick<GatewayProblems, 'degraded'>
  readonly secrets: Pick<SecretRegistry, 'redact'>
}

interface StatusCore {
  readonly outbox: Pick<Outbox, 'withheldMessages'>
  readonly engine: Pick<Engine, 'load'>
  readonly backgroundTasks: Pick<BackgroundTasks, 'open'>
  readonly hooks: Pick<HookRegistry, 'list'>
  readonly pluginRegistries: {
    readonly middleware: Pick<Middleware, 'eventCounts'>
    readonly daemons: Pick<Daemons, 'status'>
  }
}

interface StatusAgent {
  readonly agentServices: Pick<AgentServices, 'models'>
  readonly plugins: Pick<PluginManager, 'failures'>
}

/** @param pendingRestart what takes effect after a restart */
export function createStatus(
  gateway: StatusGateway,
  core: StatusCore,
  agent: StatusAgent,
  url: () => string,
  pendingRestart: () => readonly string[],
): () => GatewayStatusReport {
  const { home, clock, lifecycle, platforms, problems, options } = gateway
  const { redact } = gateway.secrets
  const { middleware, daemons } = core.pluginRegistries
  return () => {
    const { model, provider } = agent.agentServices.models.describe()
    return {
      version: options.version,
      pid: process.pid,
      home: home.root,
      url: url(),
      status: lifecycle.phase,
      uptimeMs: clock() - lifecycle.startedAt,
      model,
      provider,
      platforms: platforms.health(),
      degraded: [
        ...problems.degraded(),
        ...droppedEventsWarnings(middleware.eventCounts().dropped),
        ...withheldWarnings(core.outbox.withheldMessages()),
      ],
      pendingRestart: pendingRestart(),
      turns: core.engine.load(),
      background: core.backgroundTasks.open(),
      hooks: unhealthyHooks(core.hooks.list()).map((hook) => ({ ...hook, reason: redact(hook.reason) })),
      plugins: agent.plugins.failures().map((failure) => ({ ...failure, reason: redact(failure.reason) })),
      daemons: daemons.status().map(({ name, owner, state, restarts, lastError }) => ({
        name,
        owner,
        state,
        restarts,
        reason: redact(lastError?.text ?? ''),
      })),
    }
  }
}

/** Slow observers of plugins lose events, because the gateway does not wait for them. */
function droppedEventsWarnings(dropped: number): readonly string[] {
  return dropped === 0
    ? []
    : [`${dropped} events of model and tool calls were dropped: an observer of a plugin is too slow`]
}

/** A person may be trying to read the secrets of the gateway. */
function withheldWarnings(messages: number): readonly string[] {
  return messages === 0
    ? []
    : [
        `${messages} messages contained a secret of this gateway, which was withheld (outbox.secret_withheld in the log)`,
      ]
}

/** An enabled guardrail may be missing. */
export function pluginWarnings(failures: readonly PluginFailure[]): readonly string[] {
  return failures.map(({ id, state, reason }) => `plugin ${id} (${state}): ${reason}`)
}

/** The platforms that `/readyz` lists: disabled ones are left out. */
export function enabledPlatforms(health: ReturnType<Supervisor['health']>): ReturnType<Supervisor['health']> {
  return Object.fromEntries(Object.entries(health).filter(([, { state }]) => state !== 'disabled'))
}

export function connectedPlatforms(health: ReturnType<Supervisor['health']>): string[] {
  return Object.entries(health).flatMap(([name, { state }]) => (state === 'connected' ? [name] : []))
}

/** Weaker than the try of `detectSandbox`, but it needs no code of the sandbox, which an idle daemon does not load. */
const namespaceTry = ['--unshare-pid', '--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '/bin/true']
const namespaceTryTimeoutMs = 5_000

/** Whether the configured sandbox, if any, can be expected to work. Never rejects. */
export async function isSandboxLikely(
  { sandbox, backend }: Pick<AgentConfig['terminal'], 'sandbox' | 'backend'>,
  searchPath: string,
): Promise<boolean> {
  const isRequired = backend === 'bwrap'
  if (!isRequired && (sandbox === 'off' || backend !== 'local')) return true
  if (process.platform === 'darwin') return !isRequired && (sandbox === 'auto' || sandbox === 'seatbelt')
  if (process.platform !== 'linux' || (!isRequired && sandbox !== 'auto' && sandbox !== 'bwrap')) return false
  const env = { PATH: `/usr/bin:/bin:/usr/local/bin:${searchPath}` }
  return new Promise((resolve) => {
    execFile('bwrap', namespaceTry, { env, timeout: namespaceTryTimeoutMs }, (error) => resolve(error === null))
  })
}
