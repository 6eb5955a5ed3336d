/**
 * The configuration of the whole gateway: the sections of all modules, and the keys that take effect at the next start.
 */
import { agentConfig } from '../agent/config.ts'
import { mcpConfig } from '../agent/mcp/config.ts'
import { approvalsConfig } from '../approvals/config.ts'
import { commandsConfig } from '../commands/config.ts'
import { type Config, type ConfigOptions, createConfig } from '../config/load.ts'
import type { EnvironmentBinding } from '../config/overrides.ts'
import type { SafeValue } from '../config/replace-invalid.ts'
import { unusedKeys } from '../config/unused-keys.ts'
import { cronConfig } from '../cron/config.ts'
import { deliveryConfig } from '../flows/delivery/config.ts'
import { displayConfig } from '../flows/turn/config.ts'
import { hooksConfig, invalidProgram } from '../hooks/config.ts'
import { httpConfig } from '../http/config.ts'
import { inboxConfig } from '../inbox/config.ts'
import { logConfig } from '../lib/log-config.ts'
import { mediaConfig } from '../media/config.ts'
import { outboxConfig } from '../outbox/config.ts'
import { platformConfig, platformVariables } from '../platforms/config.ts'
import type { PlatformManifest } from '../platforms/manifest.ts'
import { pluginsConfig } from '../plugins/config.ts'
import { sessionsConfig } from '../sessions/config.ts'
import { webConfig } from '../web/config.ts'
import { keyAliases, pluginAliases } from './config-compatibility.ts'

/** The sections of all modules and of the installed platforms. */
export function gatewayShapes(platforms: readonly PlatformManifest[]) {
  return {
    ...agentConfig,
    ...approvalsConfig,
    ...commandsConfig,
    ...cronConfig,
    ...deliveryConfig,
    ...displayConfig,
    ...hooksConfig,
    ...httpConfig,
    ...inboxConfig,
    ...mcpConfig,
    ...mediaConfig,
    ...pluginsConfig,
    ...sessionsConfig,
    ...outboxConfig,
    ...logConfig,
    ...webConfig,
    ...platformConfig(platforms),
  } as const
}

export type GatewayShapes = ReturnType<typeof gatewayShapes>

/** Keys of `terminal` that Hermes also reads from `TERMINAL_<KEY>`. */
const containerKeys = [
  ...['docker_image', 'docker_forward_env', 'docker_volumes', 'docker_mount_cwd_to_workspace', 'docker_network'],
  ...['docker_shm_size', 'docker_run_as_host_user', 'docker_extra_args', 'docker_orphan_reaper', 'singularity_image'],
  ...['container_persistent', 'container_cpu', 'container_memory', 'container_disk', 'lifetime_seconds'],
]

/** Environment variables that set values of the configuration (contract). */
export function gatewayVariables(platforms: readonly PlatformManifest[]): EnvironmentBinding[] {
  return [
    { variable: 'HERMES_HTTP_HOST', path: ['http', 'host'] },
    { variable: 'HERMES_CRON_TIMEOUT', path: ['cron', 'turn_timeout'] },
    { variable: 'HERMES_HTTP_PORT', path: ['http', 'port'] },
    { variable: 'API_SERVER_HOST', path: ['http', 'host'] },
    { variable: 'API_SERVER_PORT', path: ['http', 'port'] },
    { variable: 'API_SERVER_KEY', path: ['http', 'token'] },
    { variable: 'API_SERVER_CORS_ORIGINS', path: ['http', 'allowed_origins'] },
    { variable: 'HERMES_LOG_LEVEL', path: ['log', 'level'] },
    { variable: 'HERMES_RESTART_DRAIN_TIMEOUT', path: ['agent', 'restart_drain_timeout'] },
    { variable: 'HERMES_TIMEZONE', path: ['timezone'] },
    { variable: 'HERMES_EPHEMERAL_SYSTEM_PROMPT', path: ['agent', 'system_prompt'] },
    { variable: 'HERMES_PREFILL_MESSAGES_FILE', path: ['prefill_messages_file'] },
    { variable: 'HERMES_FILTER_SILENCE_NARRATION', path: ['filter_silence_narration'] },
    { variable: 'DELEGATION_MAX_CONCURRENT_CHILDREN', path: ['delegation', 'max_concurrent_children'] },
    { variable: 'HERMES_LOCAL_STT_COMMAND', path: ['stt', 'command'] },
    { variable: 'HERMES_LOCAL_STT_LANGUAGE', path: ['stt', 'language'] },
    { variable: 'BROWSER_CDP_URL', path: ['browser', 'cdp_url'] },
    { variable: 'BROWSER_INACTIVITY_TIMEOUT', path: ['browser', 'inactivity_timeout'] },
    { variable: 'TERMINAL_ENV', path: ['terminal', 'backend'] },
    { variable: 'TERMINAL_CWD', path: ['terminal', 'cwd'] },
    { variable: 'TERMINAL_PERSISTENT_SHELL', path: ['terminal', 'persistent_shell'] },
    ...containerKeys.map((key) => ({ variable: `TERMINAL_${key.toUpperCase()}`, path: ['terminal', key] })),
    ...pluginAliases.map(({ from, to }) => ({ variable: from.replace('.', '_').toUpperCase(), path: to })),
    { variable: 'HERMES_DOCKER_BINARY', path: ['terminal', 'docker_binary'] },
    { variable: 'TERMINAL_SCRATCH_DIR', path: ['terminal', 'singularity_scratch_dir'] },
    { variable: 'TERMINAL_SSH_HOST', path: ['terminal', 'ssh_host'] },
    { variable: 'TERMINAL_SSH_USER', path: ['terminal', 'ssh_user'] },
    { variable: 'TERMINAL_SSH_PORT', path: ['terminal', 'ssh_port'] },
    { variable: 'TERMINAL_SSH_KEY', path: ['terminal', 'ssh_key'] },
    { variable: 'TERMINAL_SSH_CWD', path: ['terminal', 'ssh_cwd'] },
    { variable: 'HERMES_GATEWAY_BUSY_INPUT_MODE', path: ['display', 'busy_input_mode'] },
    { variable: 'HERMES_GATEWAY_BUSY_TEXT_MODE', path: ['display', 'busy_text_mode'] },
    { variable: 'HERMES_GATEWAY_BUSY_ACK_ENABLED', path: ['display', 'busy_ack_enabled'] },
    { variable: 'HERMES_GATEWAY_BUSY_TEXT_DEBOUNCE_SECONDS', path: ['display', 'busy_text_debounce_seconds'] },
    { variable: 'HERMES_GATEWAY_BUSY_TEXT_HARD_CAP_SECONDS', path: ['display', 'busy_text_hard_cap_seconds'] },
    ...platformVariables(platforms),
  ]
}

const restartPaths = ['http.host', 'http.port', 'http.token', 'http.max_body_mb', 'http.metrics'] as const

const noTools = { tools: [], group_tools: [] }
const noToolset = { set: 'agent.disabled_toolsets', value: ['*'], effect: 'the model has no tools' }
/** While no list names an owner, everybody who is allowed by id is one. */
const noOwners = { set: 'roles.owners', value: ['none:none'], effect: 'no user of a chat is an owner' }

/** Where the default would permit more than the owner of an invalid value may have wanted. */
const safeValues: readonly SafeValue[] = [
  { key: 'provider', value: 'none' },
  // A key must not be sent to another server than the configured one.
  { key: 'base_url', set: 'provider', value: 'none' },
  { key: 'api_key', set: 'provider', value: 'none' },
  { key: 'terminal.backend', value: 'none' },
  { key: 'terminal.cwd', set: 'terminal.backend', value: 'none' },
  { key: 'terminal.ssh_user', set: 'terminal.backend', value: 'none' },
  { key: 'terminal.ssh_port', set: 'terminal.backend', value: 'none' },
  { key: 'terminal.ssh_cwd', set: 'terminal.backend', value: 'none' },
  { key: 'terminal.sandbox_network', value: 'off' },
  { key: 'terminal.docker_network', value: false },
  { key: 'roles.owners', ...noOwners },
  { key: 'roles.members', ...noOwners },
  // It names people who are to have less than an allow list gives them.
  { key: 'roles.guests', ...noOwners },
  { key: 'roles.guests', set: 'roles.member', value: noTools, effect: 'members have no tools' },
  { key: 'roles.owner', value: noTools, effect: 'owners have no tools' },
  { key: 'roles.member', value: noTools, effect: 'members have no tools' },
  { key: 'roles.guest', value: noTools, effect: 'guests have no tools' },
  { key: 'roles.chats', set: 'roles.member.group_tools', value: [], effect: 'members have no tools in groups' },
  { key: 'roles.chats', set: 'roles.guest.group_tools', value: [], effect: 'guests have no tools in groups' },
  { key: 'approvals.deny', value: ['*'] },
  { key: 'approvals.mode', value: 'manual' },
  { key: 'approvals.approver', value: 'other_owner' },
  { key: 'approvals.destructive_slash_confirm', value: true },
  { key: 'approvals.mcp_reload_confirm', value: true },
  { key: 'agent.disabled_toolsets', value: ['*'] },
  { key: 'toolsets', value: [] },
  { key: 'platform_toolsets', ...noToolset },
  { key: 'custom_toolsets', ...noToolset },
  { key: 'memory.memory_enabled', value: false },
  { key: 'memory.user_profile_enabled', value: false },
  { key: 'memory.write_approval', value: true },
  { key: 'send_message.owner', value: [] },
  { key: 'send_message.member', value: [] },
  { key: 'plugins.disabled', set: 'plugins.enabled', value: [] },
  { key: 'plugins.env', value: 'declared' },
  { key: 'plugins.pre_tool_call_errors', value: 'closed' },
  { key: 'hooks.pre_tool_call', value: [invalidProgram], effect: 'no tool runs' },
  { key: 'hooks.env', value: 'declared' },
  { key: 'thread_sessions_per_user', value: true },
  { key: 'retention.days', value: 36_500 },
  { key: 'retention.media_days', value: 36_500 },
  { key: 'security.scan_soul', value: 'block' },
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
    keyAliases: keyAliases(platforms),
    safeValues,
    restartPaths,
    secrets,
    saveLastGood,
    log,
  })
}
