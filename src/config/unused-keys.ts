/**
 * The keys of a file of Hermes that have no effect here, with the reason. Each one in a file is reported with it; the conformance page
 * has the whole table.
 */
import type { UnusedKey } from './unknown-keys.ts'

/** By the reason, a clause without a period: dotted keys, each with all below it. `*` matches one part. */
type UnusedKeys = Readonly<Record<string, readonly string[]>>

/** Keys that restrict something in Hermes. Without their effect the gateway is degraded. */
const unenforced: UnusedKeys = {
  'numbers and names in conversations are not replaced before the model reads them': ['privacy'],
  'commands are judged by `approvals` and run in the sandbox of `terminal`; no program of another vendor scans them': [
    'security',
  ],
  'the chats that may write to the bot are in `allow_from` and `group_allowed_chats`': [
    'platforms.telegram.allowed_chats',
  ],
}

const unused: UnusedKeys = {
  'the store chooses journal and durability itself: a message is on disk before it is acknowledged': [
    'database',
    'write_sessions_json',
    'sessions_dir',
    'delivery_ledger',
    'always_log_local',
  ],
  'conversations stay until a person removes them; `retention` is about what has been delivered': [
    'sessions',
    'session_store_max_age_days',
  ],
  'the service manager sets limits of the process, and watches it': [
    'runtime',
    'systemd_watchdog_seconds',
    'loop_watchdog',
  ],
  'the gateway sends no measurements': ['telemetry'],
  'the gateway is updated by its package manager': ['updates'],
  'only Hermes migrates its file': ['_config_version'],
  'the page of the gateway is at `http`, with its own token': ['dashboard', 'platforms.api_server.extra.key'],
  'each profile has a gateway of its own (`hermes profile create`)': [
    'multiplex_profiles',
    'profile',
    'profile_routes',
  ],
  'the API answers with the configured model': ['platforms.api_server.extra.model_routes'],
  'there is no such part here': [
    'kanban',
    'wake_word',
    'voice.*',
    'lsp',
    'context_engine',
    'curator',
    'auxiliary.*',
    'gateway.*',
  ],
  'choose it with `memory.provider`': ['honcho'],
  'use `git worktree`, and start the conversation in that folder': ['worktree', 'worktree_sync'],
  'keys are in .env or in `auth.json`; start the gateway under the program of your vault': [
    'secrets',
    'auth',
    'providers.*.key_cmd',
    'custom_providers.*.key_cmd',
  ],
  'responses are always streamed': ['model.streaming', 'display.streaming'],
  'Azure is reached with an API key': ['model.auth_mode', 'model.entra'],
  'the server sets its window; `context_length` says how large it is': ['model.ollama_num_ctx'],
  'headers belong to a server: `providers.<name>.extra_headers`': [
    'model.default_headers',
    'model.extra_headers',
    'openrouter',
  ],
  'use `providers.<name>.extra_body`': [
    'provider_routing',
    'smart_model_routing',
    'agent.service_tier',
    'agent.fast_auto_seconds',
  ],
  '`request_timeout_seconds` counts the time without output': [
    'stale_timeout_seconds',
    'models.*.stale_timeout_seconds',
  ].flatMap((key) => [`providers.*.${key}`, `custom_providers.*.${key}`]),
  '`agent.model_timeout`, `agent.model_call_timeout` and the limit of each tool end what does not go on': [
    ...['timeouts', 'approvals.gateway_timeout', 'agent.gateway_timeout', 'agent.gateway_timeout_warning'],
    ...['agent.session_stall_timeout', 'agent.build_wait_timeout'],
  ],
  'messages of one conversation wait in the inbox, and their number is not limited': [
    'agent.gateway_turn_lease_timeout',
    'max_concurrent_sessions',
  ],
  '`agent.drain_timeout` counts for every turn': ['agent.cron_drain_timeout', 'agent.restart_after_turn_timeout'],
  '`agent.retry_window` and `agent.max_retries` decide about retries': [
    'agent.auto_recovery_cycles',
    'agent.api_max_retries',
  ],
  'every request is checked before it is sent, and a fault is repaired or reported': [
    'agent.sanitizer_heal_escalation_threshold',
  ],
  'the agent is not asked to verify its work; write it into AGENTS.md or `agent.system_prompt`': [
    ...['agent.verify_on_stop', 'agent.verify_guidance', 'agent.max_verify_nudges'],
    ...['agent.coding_instructions', 'memory.nudge_interval', 'skills.creation_nudge_interval'],
  ],
  'use `log.level`': ['agent.verbose', 'mcp_servers.*.sampling.log_level'],
  'choose it in the conversation with `/reasoning`': ['agent.reasoning_overrides'],
  '`agent.max_identical_calls` ends a turn that repeats itself': ['tool_loop_guardrails'],
  '`agent.max_tool_result_chars` holds for every tool; the rest is kept in a file': [
    'tool_budget',
    'browser.snapshot_threshold',
  ],
  'compression decides it by the window of the model (`compression`)': [
    ...['model_thresholds', 'codex_gpt55_autoraise', 'max_attempts', 'codex_app_server_auto'],
    ...['codex_responses_native', 'codex_responses_compact_threshold', 'idle_compact_after_seconds'],
    ...['hygiene_max_turn_hold_seconds', 'proactive_prune_tokens', 'proactive_prune_min_result_chars'],
    ...['proactive_prune_min_reclaim_tokens', 'context_timeout_seconds', 'context_total_ceiling_seconds'],
    ...['checkpoint_required', 'progress_notices'],
  ].map((key) => `compression.${key}`),
  'the cache of Anthropic has its usual lifetime of five minutes': ['prompt_caching'],
  'pictures are made smaller by themselves': ['vision'],
  'name the model itself; `providers.<name>.models` lists those of a server': ['model_aliases'],
  'commands have the HOME of their place, and no password': ['terminal.home_mode', 'terminal.sudo_password'],
  'terminals and editors have their own looks and sounds': [
    'terminal.font_family',
    'display.*',
    'display.platforms.*.*',
    'message_timestamps',
  ],
  'the browser of the agent has no such setting': ['browser.*'],
  'each script runs in a process of its own': ['code_execution'],
  'sub-agents have the rights of their agent, and its `fallback_providers`': [
    ...['delegation.orchestrator_enabled', 'delegation.subagent_auto_approve', 'delegation.fallback_providers'],
    ...['delegation.max_async_children', 'delegation.reasoning_effort'],
  ],
  'a server starts with its first call; until then its tools are those of the last time': [
    'mcp_servers.*.lazy',
    'mcp_servers.*.keepalive_interval',
  ],
  'a server asks for texts without tools, and waits for an answer as a person does': [
    ...['mcp_servers.*.sampling.max_tool_rounds', 'mcp_servers.*.sampling.expose_client_tools'],
    ...['mcp_servers.*.elicitation.timeout'],
  ],
  '`tts` and `stt` have one vendor, with `model`, `voice` and `language`': ['tts.*', 'stt.*'],
  '`image_gen.provider` and `image_gen.model` choose it': ['image_gen.*'],
  'replies are sent at once': ['human_delay'],
  'the adapter of the platform has no such setting': [
    ...['platforms.telegram.guest_mode', 'platforms.telegram.extra.*', 'platforms.slack.extra.*'],
    ...['platforms.webhook.extra.*', 'platforms.discord.free_response_auto_thread'],
    ...['platforms.*.channel_skill_bindings', 'platforms.*.proxy_url', 'trust_env'],
  ],
  'files that people send are kept in the home, and the agent reads them there': ['attachments'],
  'the bot does not speak in voice channels; a spoken answer is a voice message (`/voice`)': [
    ...['platforms.discord.voice_fx', 'platforms.discord.voice_channel_inactivity_timeout_seconds'],
    ...['platforms.discord.voice_channel_inactivity_requires_alone'],
  ],
  'use `allow_bots: mentions`': ['platforms.discord.bots_require_inline_mention'],
  'use `context_messages`': ['platforms.discord.history_backfill', 'platforms.discord.history_backfill_limit'],
  'skills are texts that the model reads; none runs code or is loaded by itself': [
    ...['skills.auto_load', 'skills.guard_agent_created', 'skills.inline_shell', 'skills.inline_shell_timeout'],
    ...['skills.template_vars'],
  ],
  'a plugin is a folder in `plugins/`; the gateway clones none': ['plugins.clone_timeout_seconds'],
  'there is no gateway of a vendor for tools': ['web.use_gateway'],
}

const toKeys = (kind: UnusedKey['kind'], groups: UnusedKeys): UnusedKey[] =>
  Object.entries(groups).flatMap(([reason, keys]) => keys.map((key) => ({ key, kind, reason })))

/** The first matching key counts. */
export const unusedKeys: readonly UnusedKey[] = [...toKeys('security', unenforced), ...toKeys('unused', unused)]
