/**
 * Twenty homes of Hermes Agent, as its versions and its users write them: spellings of keys, providers, platforms.
 */
import type { Files } from './support.ts'

export interface HermesHome {
  readonly name: string
  readonly files: Files
  /** Keys of the settings in this home afterwards, as `hermes config show` names them. */
  readonly expected: Readonly<Record<string, unknown>>
  /** What is left out, by its name in the report. */
  readonly left?: readonly string[]
}

const skill = (name: string) => `---\nname: ${name}\ndescription: does ${name}\n---\nDo it.\n`

export const hermesHomes: readonly HermesHome[] = [
  {
    name: 'a flat model of the first versions',
    files: {
      'config.yaml': 'model: anthropic/claude-opus-4.6\nprovider: openrouter\nmax_iterations: 60\n',
      '.env': 'OPENROUTER_API_KEY=k-1\n',
    },
    expected: { model: 'anthropic/claude-opus-4.6', provider: 'openrouter', max_iterations: 60 },
  },
  {
    name: 'the example file of a new installation',
    files: {
      'config.yaml':
        '_config_version: 50\ndatabase:\n  journal_mode: wal\nmodel:\n  default: "anthropic/claude-opus-4.6"\n  provider: "auto"\n  base_url: "https://openrouter.ai/api/v1"\nagent: {max_turns: 90, reasoning_effort: medium, verbose: false}\n',
      '.env': 'OPENROUTER_API_KEY=k-1\n',
    },
    expected: {
      model: 'anthropic/claude-opus-4.6',
      provider: 'auto',
      base_url: 'https://openrouter.ai/api/v1',
      reasoning_effort: 'medium',
    },
    left: ['_config_version', 'database', 'agent.verbose'],
  },
  {
    name: 'model.model, and a key in the file',
    files: {
      'config.yaml':
        'model: {model: claude-sonnet-5, provider: claude, api_key: k-2, context_length: 200000, streaming: true}\n',
    },
    expected: { model: 'claude-sonnet-5', provider: 'anthropic', api_key: 'k-2', context_length: 200_000 },
    left: ['model.streaming'],
  },
  {
    name: 'Telegram at the top level',
    files: {
      'config.yaml':
        'model: gpt-5.2\ntelegram:\n  require_mention: false\n  mention_patterns: [hermes]\n  ignored_threads: [7]\n',
      '.env': 'OPENAI_API_KEY=k-3\nTELEGRAM_BOT_TOKEN=1:a\nTELEGRAM_ALLOWED_USERS=42,43\nTELEGRAM_HOME_CHANNEL=42\n',
    },
    expected: { 'platforms.telegram.require_mention': false, 'platforms.telegram.ignored_threads': [7] },
  },
  {
    name: 'platforms below gateway',
    files: {
      'config.yaml':
        'gateway:\n  platforms:\n    telegram:\n      enabled: true\n      token: "1:a"\n      home_channel: {platform: telegram, chat_id: "-100", name: Ops}\n      extra: {allow_from: ["42"], allow_admin_from: ["42"]}\n  session_reset: {mode: idle, idle_minutes: 120}\n',
    },
    expected: {
      'platforms.telegram.token': '1:a',
      'platforms.telegram.allow_from': ['42'],
      'platforms.telegram.extra.allow_admin_from': ['42'],
      'session_reset.mode': 'idle',
    },
  },
  {
    name: 'Discord with all its settings',
    files: {
      'config.yaml':
        'discord:\n  require_mention: true\n  free_response_channels: ["11"]\n  auto_thread: false\n  reactions: true\n  ignored_channels: ["12"]\n  no_thread_channels: []\n  allowed_channels: "13,14"\n  channel_prompts: {"11": Be brief.}\n  allow_mentions: {everyone: false, roles: false, users: true, replied_user: true}\n',
      '.env': 'DISCORD_BOT_TOKEN=d\nDISCORD_ALLOWED_USERS=1234567\nDISCORD_ALLOWED_ROLES=99\n',
    },
    expected: { 'platforms.discord.auto_thread': false, 'platforms.discord.allowed_channels': '13,14' },
  },
  {
    name: 'Slack with the one name for tokens',
    files: {
      'config.yaml':
        'platforms:\n  slack: {token: xoxb-1, app_token: xapp-1, reply_in_thread: false, rich_blocks: true}\n',
      '.env': 'SLACK_ALLOWED_USERS=U1\n',
    },
    expected: { 'platforms.slack.bot_token': 'xoxb-1', 'platforms.slack.reply_in_thread': false },
  },
  {
    name: 'platforms in the environment only, and some that are not here',
    files: {
      '.env':
        '# mine\nexport TELEGRAM_BOT_TOKEN="1:a"\nDISCORD_BOT_TOKEN=\'d\'\nSLACK_BOT_TOKEN=xoxb-1\nWHATSAPP_ENABLED=true\nSIGNAL_ACCOUNT=+15550100\nGATEWAY_ALLOW_ALL_USERS=false\nHERMES_HOME=/root/.hermes\nEMPTY=\n',
    },
    expected: {},
    left: ['HERMES_HOME'],
  },
  {
    name: 'custom_providers',
    files: {
      'config.yaml':
        'model: {default: qwen3, provider: "custom:My Box"}\ncustom_providers:\n  - {name: My Box, base_url: "http://10.0.0.2:8000/v1", key_env: BOX_KEY, api_mode: chat_completions, models: {qwen3: {context_length: 32000}}}\n  - {base_url: "https://llm.example.org/v1", api_key: k-4}\n  - {name: empty}\n',
      '.env': 'BOX_KEY=k-5\n',
    },
    expected: {
      provider: 'my-box',
      'providers.my-box.base_url': 'http://10.0.0.2:8000/v1',
      'providers.llm.example.org': { base_url: 'https://llm.example.org/v1', api_key: 'k-4' },
    },
    left: ['custom_providers[2]'],
  },
  {
    name: 'providers with names, and several fallbacks',
    files: {
      'config.yaml':
        'model: {default: deepseek-chat, provider: deepseek}\nproviders:\n  mine: {base_url: "https://llm.example.org/v1", key_env: MINE_KEY}\nfallback_providers:\n  - {provider: mine, model: a}\n  - {provider: google, model: gemini-3-pro}\n  - {provider: deepinfra, model: b}\ncredential_pool_strategies: {deepseek: round_robin}\n',
      '.env': 'DEEPSEEK_API_KEY=k-6\nMINE_KEY=k-7\nDEEPINFRA_API_KEY=k-8\n',
    },
    expected: {
      fallback_providers: [
        { provider: 'mine', model: 'a' },
        { provider: 'gemini', model: 'gemini-3-pro' },
        { provider: 'deepinfra', model: 'b' },
      ],
      'providers.deepinfra.key_env': 'DEEPINFRA_API_KEY',
    },
  },
  {
    name: 'the single fallback of older versions',
    files: {
      'config.yaml': 'model: {default: glm-5, provider: glm}\nfallback_model: {provider: moonshot, model: kimi-k2}\n',
      '.env': 'GLM_API_KEY=k-9\n',
    },
    expected: { provider: 'zai', fallback_providers: [{ provider: 'kimi', model: 'kimi-k2' }] },
  },
  {
    name: 'a provider that this gateway knows by address only',
    files: { 'config.yaml': 'model: {default: nemotron, provider: deepinfra}\n', '.env': 'DEEPINFRA_API_KEY=k-10\n' },
    expected: { provider: 'deepinfra', 'providers.deepinfra.base_url': 'https://api.deepinfra.com/v1/openai' },
  },
  {
    name: 'a provider that exists there only',
    files: {
      'config.yaml': 'model: {default: gpt-5.2, provider: copilot}\ntimezone: Europe/Berlin\n',
      '.env': 'GITHUB_TOKEN=k-11\n',
    },
    expected: { timezone: 'Europe/Berlin' },
    left: ['provider', 'model'],
  },
  {
    name: 'a server on the same machine',
    files: {
      'config.yaml':
        'model:\n  default: llama3.3\n  provider: custom\n  base_url: http://localhost:11434/v1\n  ollama_num_ctx: 32768\ncompression: {enabled: true, threshold: 0.6, protect_last_n: 12}\n',
    },
    expected: { provider: 'custom', base_url: 'http://localhost:11434/v1', 'compression.threshold': 0.6 },
    left: ['model.ollama_num_ctx'],
  },
  {
    name: 'a persona with personalities and words before each conversation',
    files: {
      'config.yaml':
        'agent:\n  personalities:\n    pirate: Arrr.\n    calm: {system_prompt: Breathe., description: slow}\n  prefill_messages_file: prefill/first.json\n  system_prompt: Be kind.\ndisplay: {personality: pirate, skin: default}\n',
      'SOUL.md': '# Soul\nYou are Hermes.\n',
      'prefill/first.json': '[{"role":"user","content":"hi"},{"role":"assistant","content":"hello"}]',
      'memories/MEMORY.md': 'one\n§\ntwo\nlines',
      'memories/USER.md': 'likes tea',
    },
    expected: { personality: 'pirate', 'personalities.pirate': 'Arrr.', prefill_messages_file: 'prefill.json' },
  },
  {
    name: 'skills, hooks and plugins',
    files: {
      'config.yaml': 'plugins: {enabled: [notes], disabled: [old]}\nskills: {disabled: [noisy]}\n',
      'skills/research/papers/SKILL.md': skill('papers'),
      'skills/research/papers/scripts/find.sh': '#!/bin/sh\necho\n',
      'skills/flat/SKILL.md': skill('flat'),
      'skills/.bundled_manifest': 'papers:abc\n',
      'hooks/log/HOOK.yaml': 'name: log\nevents: [agent:end]\n',
      'hooks/log/handler.py': 'def handle(event, context):\n    pass\n',
      'hooks/draft/notes.txt': 'no hook',
      'plugins/notes/plugin.yaml': 'name: notes\nversion: 1.0.0\n',
      'plugins/notes/__init__.py': 'def register(ctx):\n    pass\n',
      'plugins/memory/mine/plugin.yaml': 'name: mine\n',
      'plugins/memory/mine/__init__.py': 'def register(ctx):\n    pass\n',
    },
    expected: { 'plugins.enabled': ['notes'] },
  },
  {
    name: 'people, keys and jobs',
    files: {
      'config.yaml': 'approvals: {mode: manual, timeout: 60, deny: ["rm *"]}\nunauthorized_dm_behavior: ignore\n',
      'pairing/telegram-approved.json': '{"77":{"user_name":"Eve","approved_at":1760000000.5}}',
      'platforms/pairing/telegram-approved.json': '\uFEFF{"78":{"user_name":"Bob","approved_at":1760000000}}',
      'pairing/telegram-pending.json': '{"x":{}}',
      'pairing/whatsapp-approved.json': '{"1555":{}}',
      'auth.json':
        '{"version":1,"active_provider":"nous","providers":{"nous":{"refresh_token":"r"}},"credential_pool":{"openrouter":[{"id":"a1b2c3","label":"work","auth_type":"api_key","priority":0,"source":"manual","access_token":"k-12"},{"id":"d4e5f6","label":"env","auth_type":"api_key","source":"env:OPENROUTER_API_KEY"},{"id":"aaaaaa","auth_type":"oauth","source":"manual:device_code","access_token":"o"}]}}',
      'cron/jobs.json':
        '{"jobs":[{"id":"aabbccddeeff","name":"Morning","prompt":"Hi","schedule":{"kind":"cron","expr":"0 7 * * *","display":"0 7 * * *"}},{"name":"no id"}],"updated_at":"2026-05-01"}',
      'scripts/check.py': 'print(1)\n',
    },
    expected: { 'approvals.timeout': 60, 'gateway.unauthorized_dm_behavior': 'ignore' },
  },
  {
    name: 'a file of Windows with a byte order mark, anchors and empty keys',
    files: {
      'config.yaml':
        '\uFEFFmodel: &m gpt-5.2\r\nprovider:\r\nterminal:\r\n  backend: local\r\n  cwd: .\r\n  timeout: 60\r\ndisplay:\r\nauxiliary:\r\n  compression: {model: *m}\r\n',
      '.env': '\uFEFFOPENAI_API_KEY=k-13\r\n',
    },
    expected: { model: 'gpt-5.2', 'terminal.timeout': 60, 'auxiliary.compression.model': 'gpt-5.2' },
  },
  {
    name: 'tool servers, programs on events, quick commands and restrictions',
    files: {
      'config.yaml':
        'mcp_servers:\n  time: {command: uvx, args: [mcp-server-time]}\nquick_commands:\n  disk: {type: exec, command: df -h}\n  hi: {type: alias, target: /status}\nsecurity: {redact_secrets: true, tirith_enabled: true}\nprivacy: {redact_pii: true}\ncommand_allowlist: ["git status"]\nplatform_toolsets: {telegram: [hermes-telegram]}\nhooks_auto_accept: false\n',
    },
    expected: {
      command_allowlist: ['git status'],
      'quick_commands.disk.command': 'df -h',
      'security.redact_secrets': true,
    },
  },
  {
    name: 'sections of the newest versions that have no counterpart',
    files: {
      'config.yaml':
        'model: gpt-5.2\nkanban: {enabled: true}\nworktree: true\ndashboard: {theme: dark}\ngateway: {multiplex_profiles: true, streaming: {enabled: true}}\nstt: {enabled: true, provider: local}\ntts: {provider: edge}\nbrowser: {inactivity_timeout: 120}\ncron: {wrap_response: true}\ndelegation: {max_iterations: 30, max_concurrent_children: 5}\n',
      'kanban.db': 'x',
      'profiles/work/config.yaml': 'model: a\n',
      'logs/agent.log': 'x',
    },
    expected: { 'delegation.max_iterations': 30 },
    left: ['kanban', 'worktree', 'dashboard', 'profiles/work', 'kanban.db'],
  },
]
