/**
 * The configuration of the whole gateway: the sections of all modules, and the keys that take effect at the next start.
 */
import { agentConfig } from '../agent/config.ts'
import { approvalsConfig } from '../approvals/config.ts'
import { type Config, type ConfigOptions, createConfig } from '../config/load.ts'
import type { EnvironmentBinding } from '../config/overrides.ts'
import type { UnusedKey } from '../config/unknown-keys.ts'
import { hooksConfig } from '../hooks/config.ts'
import { httpConfig } from '../http/config.ts'
import { inboxConfig } from '../inbox/config.ts'
import { logConfig } from '../lib/log-config.ts'
import { mediaConfig } from '../media/config.ts'
import { outboxConfig } from '../outbox/config.ts'
import { platformConfig, platformVariables } from '../platforms/config.ts'
import type { PlatformManifest } from '../platforms/manifest.ts'
import { pluginsConfig } from '../plugins/config.ts'
import { sessionsConfig } from '../sessions/config.ts'

/** The sections of all modules and of the installed platforms. */
export function gatewayShapes(platforms: readonly PlatformManifest[]) {
  return {
    ...agentConfig,
    ...approvalsConfig,
    ...hooksConfig,
    ...httpConfig,
    ...inboxConfig,
    ...mediaConfig,
    ...pluginsConfig,
    ...sessionsConfig,
    ...outboxConfig,
    ...logConfig,
    ...platformConfig(platforms),
  } as const
}

export type GatewayShapes = ReturnType<typeof gatewayShapes>

/** Environment variables that set values of the configuration (contract). */
export function gatewayVariables(platforms: readonly PlatformManifest[]): EnvironmentBinding[] {
  return [
    { variable: 'HERMES_HTTP_HOST', path: ['http', 'host'] },
    { variable: 'HERMES_HTTP_PORT', path: ['http', 'port'] },
    { variable: 'HERMES_LOG_LEVEL', path: ['log', 'level'] },
    { variable: 'TERMINAL_ENV', path: ['terminal', 'backend'] },
    { variable: 'TERMINAL_CWD', path: ['terminal', 'cwd'] },
    ...platformVariables(platforms),
  ]
}

const restartPaths = ['http.host', 'http.port', 'http.token', 'http.max_body_mb', 'http.allowed_hosts'] as const

/** Keys of Hermes that no module reads yet. Each one in the file is reported as a note. */
const plannedKeys = [
  'auxiliary.*',
  'browser',
  'code_execution',
  'compression.min_tail_user_messages',
  'compression.summary_base_url',
  'compression.summary_provider',
  'compression.tail_mode',
  'compression.threshold_tokens',
  'context_engine',
  'credential_pool_strategies',
  'cron',
  'curator',
  'delegation.*',
  'display',
  'fallback_model',
  'fallback_providers',
  'gateway.*',
  'mcp_servers',
  'profile',
  'personalities',
  'prefill_messages_file',
  'profile_routes',
  'providers',
  'quick_commands',
  'reset_triggers',
  'session_reset',
  'sessions_dir',
  'skills',
  'smart_model_routing',
  'stt',
  'timezone',
  'toolsets',
  'tts',
  'voice',
  'web',
  'agent.restart_drain_timeout',
  'approvals.gateway_timeout',
  'approvals.mcp_reload_confirm',
  'agent.gateway_timeout',
  'terminal.docker_image',
  'terminal.container_persistent',
  'streaming.fresh_final_after_seconds',
]

/** Keys that restrict something in Hermes. Without their effect the gateway is degraded. */
const unenforcedKeys = [
  'approvals.mode',
  'approvals.cron_mode',
  'approvals.single_query_mode',
  'approvals.unattended_mode',
  'gateway.unauthorized_dm_behavior',
  'platforms.*.unauthorized_dm_behavior',
  'privacy',
  'security',
  'unauthorized_dm_behavior',
]

const unusedKeys: readonly UnusedKey[] = [
  // The first matching key counts.
  ...unenforcedKeys.map((key): UnusedKey => ({ key, kind: 'security' })),
  ...plannedKeys.map((key): UnusedKey => ({ key, kind: 'planned' })),
]

type OpenConfigOptions = Required<
  Pick<ConfigOptions<GatewayShapes>, 'home' | 'environment' | 'secrets' | 'saveLastGood' | 'log'>
> & { readonly platforms: readonly PlatformManifest[] }

/** Reads the configuration of the gateway with the given platforms. Invalid files do not throw. */
export function openConfig(options: OpenConfigOptions): Config<GatewayShapes> {
  const { home, environment, platforms, secrets, saveLastGood, log } = options
  return createConfig({
    home,
    shapes: gatewayShapes(platforms),
    environment,
    environmentBindings: gatewayVariables(platforms),
    unusedKeys,
    restartPaths,
    secrets,
    saveLastGood,
    log,
  })
}
