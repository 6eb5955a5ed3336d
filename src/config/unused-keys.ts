/**
 * The keys of a file of Hermes that have no effect here, with the reason. Each one in a file is reported with it; the conformance page
 * has the whole table.
 */
import type { UnusedKey } from './unknown-keys.ts'

interface UnusedKeys {
  /** A clause without a period. */
  readonly reason: string
  /** A dotted key, and all below it. `*` matches one part. */
  readonly keys: readonly string[]
}

/** Keys that restrict something in Hermes. Without their effect the gateway is degraded. */
const unenforced: readonly UnusedKeys[] = [
  {
    reason: 'numbers and names in conversations are not replaced before the model reads them',
    keys: ['privacy'],
  },
  {
    reason:
      'commands are judged by `approvals` and run in the sandbox of `terminal`; no program of another vendor scans them',
    keys: ['security'],
  },
  {
    reason: 'the chats that may write to the bot are in `allow_from` and `group_allowed_chats`',
    keys: ['platforms.telegram.allowed_chats'],
  },
]

const unused: readonly UnusedKeys[] = [
  {
    reason: 'the store chooses journal and durability itself: a message is on disk before it is acknowledged',
    keys: ['database', 'write_sessions_json', 'sessions_dir', 'delivery_ledger', 'always_log_local'],
  },
  {
    reason: 'conversations stay until a person removes them; `retention` is about what has been delivered',
    keys: ['sessions', 'session_store_max_age_days'],
  },
  {
    reason: 'the service manager sets limits of the process, and watches it',
    keys: ['runtime', 'systemd_watchdog_seconds', 'loop_watchdog'],
  },
  { reason: 'the gateway sends no measurements', keys: ['telemetry'] },
  { reason: 'the gateway is updated by its package manager', keys: ['updates'] },
  {
    reason: 'only Hermes migrates its file',
    keys: ['_config_version'],
  },
  {
    reason: 'the page of the gateway is at `http`, with its own token',
    keys: ['dashboard', 'platforms.api_server.extra.key'],
  },
  {
    reason: 'each profile has a gateway of its own (`hermes profile create`)',
    keys: ['multiplex_profiles', 'profile', 'profile_routes'],
  },
  { reason: 'the API answers with the configured model', keys: ['platforms.api_server.extra.model_routes'] },
  {
    reason: 'there is no such part here',
    keys: ['kanban', 'wake_word', 'voice.*', 'lsp', 'context_engine', 'curator', 'auxiliary.*', 'gateway.*'],
  },
  { reason: 'choose it with `memory.provider`', keys: ['honcho'] },
  {
    reason: 'use `git worktree`, and start the conversation in that folder',
    keys: ['worktree', 'worktree_sync'],
  },
  {
    reason: 'keys are in .env or in `auth.json`; start the gateway under the program of your vault',
    keys: ['secrets', 'auth', 'providers.*.key_cmd', 'custom_providers.*.key_cmd'],
  },
  {
    reason: 'responses are always streamed',
    keys: ['model.streaming', 'display.streaming'],
  },
  { reason: 'Azure is reached with an API key', keys: ['model.auth_mode', 'model.entra'] },
  {
    reason: 'the server sets its window; `context_length` says how large it is',
    keys: ['model.ollama_num_ctx'],
  },
  {
    reason: 'headers belong to a server: `providers.<name>.extra_headers`',
    keys: ['model.default_headers', 'model.extra_headers', 'openrouter'],
  },
  {
    reason: 'use `providers.<name>.extra_body`',
    keys: ['provider_routing', 'smart_model_routing', 'agent.service_tier', 'agent.fast_auto_seconds'],
  },
  {
    reason: '`request_timeout_seconds` counts the time without output',
    keys: ['stale_timeout_seconds', 'models.*.stale_timeout_seconds'].flatMap((key) => [
      `providers.*.${key}`,
      `custom_providers.*.${key}`,
    ]),
  },
  {
    reason: '`agent.model_timeout`, `agent.model_call_timeout` and the limit of each tool end what does not go on',
    keys: [
      ...['timeouts', 'approvals.gateway_timeout', 'agent.gateway_timeout', 'agent.gateway_timeout_warning'],
      ...['agent.session_stall_timeout', 'agent.build_wait_timeout'],
    ],
  },
  {
    reason: 'messages of one conversation wait in the inbox, and their number is not limited',
    keys: ['agent.gateway_turn_lease_timeout', 'max_concurrent_sessions'],
  },
  {
    reason: '`agent.drain_timeout` counts for every turn',
    keys: ['agent.cron_drain_timeout', 'agent.restart_after_turn_timeout'],
  },
  {
    reason: '`agent.retry_window` and `agent.max_retries` decide about retries',
    keys: ['agent.auto_recovery_cycles', 'agent.api_max_retries'],
  },
  {
    reason: 'every request is checked before it is sent, and a fault is repaired or reported',
    keys: ['agent.sanitizer_heal_escalation_threshold'],
  },
  {
    reason: 'the agent is not asked to verify its work; write it into AGENTS.md or `agent.system_prompt`',
    keys: [
      ...['agent.verify_on_stop', 'agent.verify_guidance', 'agent.max_verify_nudges'],
      ...['agent.coding_instructions', 'memory.nudge_interval', 'skills.creation_nudge_interval'],
    ],
  },
  { reason: 'use `log.level`', keys: ['agent.verbose', 'mcp_servers.*.sampling.log_level'] },
  { reason: 'choose it in the conversation with `/reasoning`', keys: ['agent.reasoning_overrides'] },
  {
    reason: '`agent.max_identical_calls` ends a turn that repeats itself',
    keys: ['tool_loop_guardrails'],
  },
  {
    reason: '`agent.max_tool_result_chars` holds for every tool; the rest is kept in a file',
    keys: ['tool_budget', 'browser.snapshot_threshold'],
  },
  {
    reason: 'compression decides it by the window of the model (`compression`)',
    keys: [
      ...['model_thresholds', 'codex_gpt55_autoraise', 'max_attempts', 'codex_app_server_auto'],
      ...['codex_responses_native', 'codex_responses_compact_threshold', 'idle_compact_after_seconds'],
      ...['hygiene_max_turn_hold_seconds', 'proactive_prune_tokens', 'proactive_prune_min_result_chars'],
      ...['proactive_prune_min_reclaim_tokens', 'context_timeout_seconds', 'context_total_ceiling_seconds'],
      ...['checkpoint_required', 'progress_notices'],
    ].map((key) => `compression.${key}`),
  },
  { reason: 'the cache of Anthropic has its usual lifetime of five minutes', keys: ['prompt_caching'] },
  {
    reason: 'pictures are made smaller by themselves',
    keys: ['vision'],
  },
  { reason: 'name the model itself; `providers.<name>.models` lists those of a server', keys: ['model_aliases'] },
  {
    reason: 'commands have the HOME of their place, and no password',
    keys: ['terminal.home_mode', 'terminal.sudo_password'],
  },
  {
    reason: 'terminals and editors have their own looks and sounds',
    keys: ['terminal.font_family', 'display.*', 'display.platforms.*.*', 'message_timestamps'],
  },
  {
    reason: 'the browser of the agent has no such setting',
    keys: ['browser.*'],
  },
  { reason: 'each script runs in a process of its own', keys: ['code_execution'] },
  {
    reason: 'sub-agents have the rights of their agent, and its `fallback_providers`',
    keys: [
      ...['delegation.orchestrator_enabled', 'delegation.subagent_auto_approve', 'delegation.fallback_providers'],
      ...['delegation.max_async_children', 'delegation.reasoning_effort'],
    ],
  },
  {
    reason: 'a server starts with its first call; until then its tools are those of the last time',
    keys: ['mcp_servers.*.lazy', 'mcp_servers.*.keepalive_interval'],
  },
  {
    reason: 'a server asks for texts without tools, and waits for an answer as a person does',
    keys: [
      ...['mcp_servers.*.sampling.max_tool_rounds', 'mcp_servers.*.sampling.expose_client_tools'],
      ...['mcp_servers.*.elicitation.timeout'],
    ],
  },
  {
    reason: '`tts` and `stt` have one vendor, with `model`, `voice` and `language`',
    keys: ['tts.*', 'stt.*'],
  },
  { reason: '`image_gen.provider` and `image_gen.model` choose it', keys: ['image_gen.*'] },
  { reason: 'replies are sent at once', keys: ['human_delay'] },
  {
    reason: 'the adapter of the platform has no such setting',
    keys: [
      ...['platforms.telegram.guest_mode', 'platforms.telegram.extra.*', 'platforms.slack.extra.*'],
      ...['platforms.webhook.extra.*', 'platforms.discord.free_response_auto_thread'],
      ...['platforms.*.channel_skill_bindings', 'platforms.*.proxy_url', 'trust_env'],
    ],
  },
  {
    reason: 'files that people send are kept in the home, and the agent reads them there',
    keys: ['attachments'],
  },
  {
    reason: 'the bot does not speak in voice channels; a spoken answer is a voice message (`/voice`)',
    keys: [
      ...['platforms.discord.voice_fx', 'platforms.discord.voice_channel_inactivity_timeout_seconds'],
      ...['platforms.discord.voice_channel_inactivity_requires_alone'],
    ],
  },
  { reason: 'use `allow_bots: mentions`', keys: ['platforms.discord.bots_require_inline_mention'] },
  {
    reason: 'use `context_messages`',
    keys: ['platforms.discord.history_backfill', 'platforms.discord.history_backfill_limit'],
  },
  {
    reason: 'skills are texts that the model reads; none runs code or is loaded by itself',
    keys: [
      ...['skills.auto_load', 'skills.guard_agent_created', 'skills.inline_shell', 'skills.inline_shell_timeout'],
      ...['skills.template_vars'],
    ],
  },
  { reason: 'a plugin is a folder in `plugins/`; the gateway clones none', keys: ['plugins.clone_timeout_seconds'] },
  { reason: 'there is no gateway of a vendor for tools', keys: ['web.use_gateway'] },
]

const toKeys = (kind: UnusedKey['kind'], groups: readonly UnusedKeys[]): UnusedKey[] =>
  groups.flatMap(({ reason, keys }) => keys.map((key) => ({ key, kind, reason })))

/** The first matching key counts. */
export const unusedKeys: readonly UnusedKey[] = [...toKeys('security', unenforced), ...toKeys('unused', unused)]
