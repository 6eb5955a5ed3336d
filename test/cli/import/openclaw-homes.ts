/**
 * Five homes of OpenClaw and its former names, with the forms of its documentation.
 */
import type { Files } from './support.ts'

export interface OpenclawHome {
  readonly name: string
  readonly files: Files
  readonly expected: Readonly<Record<string, unknown>>
  readonly variables?: Readonly<Record<string, string>>
  readonly left?: readonly string[]
}

const reference = (name: string) => `\${${name}}`

export const openclawHomes: readonly OpenclawHome[] = [
  {
    name: 'the smallest home',
    files: {
      'openclaw.json':
        '{ agent: { workspace: "~/.openclaw/workspace" }, channels: { whatsapp: { allowFrom: ["+15555550123"] } } }',
    },
    expected: {},
    left: ['channels.whatsapp'],
  },
  {
    name: 'a home of ClawdBot with one agent and a name',
    files: {
      'clawdbot.json':
        '{\n  // former names\n  identity: { name: "Samantha", theme: "a helpful sloth", emoji: "x" },\n  agent: { model: { primary: "lmstudio/minimax-m2" } },\n  telegram: { botToken: "1:a", allowFrom: [42] },\n  models: { providers: { lmstudio: { baseUrl: "http://127.0.0.1:1234/v1", apiKey: "lmstudio", api: "openai-completions", models: [{ id: "minimax-m2", contextWindow: 196608 }] } } },\n}',
      'workspace/AGENTS.md': 'Read SOUL.md.',
    },
    expected: {
      model: 'minimax-m2',
      provider: 'lmstudio',
      context_length: 196_608,
      'platforms.telegram.allow_from': ['42'],
      'platforms.telegram.unauthorized_dm_behavior': 'pair',
    },
    variables: { TELEGRAM_BOT_TOKEN: '1:a', LM_API_KEY: 'lmstudio' },
  },
  {
    name: 'the long example of the documentation',
    files: {
      'openclaw.json': `{
        env: { OPENROUTER_API_KEY: "k-1", vars: { GROQ_API_KEY: "k-2" }, shellEnv: { enabled: true, timeoutMs: 15000 } },
        auth: { order: { anthropic: ["anthropic:b", "anthropic:a"] } },
        logging: { level: "trace", redactSensitive: "tools" },
        messages: { queue: { mode: "followup", cap: 20 }, ackReaction: "x" },
        session: { dmScope: "per-channel-peer", reset: { mode: "daily", atHour: 4, idleMinutes: 60 }, resetByChannel: { discord: { mode: "idle", idleMinutes: 10080 } }, resetByType: { direct: { mode: "none" } }, resetTriggers: ["/new", "fresh start"] },
        commands: { ownerAllowFrom: ["telegram:42", "discord:123456789012345678"], text: true },
        channels: {
          defaults: { groupPolicy: "allowlist" },
          modelByChannel: { discord: { "222222": "anthropic/claude-opus-4-6" } },
          telegram: { botToken: { source: "env", provider: "default", id: "TG_TOKEN" }, dmPolicy: "allowlist", allowFrom: ["tg:42", "43", "@ada"], groupAllowFrom: ["44"], replyToMode: "first", linkPreview: true,
            groups: { "*": { requireMention: true }, "-1001": { requireMention: false, systemPrompt: "Be brief.", topics: { "99": { systemPrompt: "Stay on topic." } } } } },
          discord: { token: "k-3", dm: { enabled: true, allowFrom: ["123456789012345678"] }, allowBots: "mentions",
            guilds: { "999999": { requireMention: false, channels: { general: { allow: true }, "222222": { allow: true, requireMention: true }, "333333": { allow: true, users: ["555555"] }, "444444": { allow: false } } } } },
          slack: { botToken: "k-4", appToken: "k-5", channels: { C1: { allow: true, requireMention: true }, "#general": { allow: true } }, dm: { allowFrom: ["U1"] } },
        },
        agents: { defaults: { userTimezone: "America/Chicago", thinkingDefault: "low", model: { primary: "sonnet", fallbacks: ["anthropic/claude-opus-4-6", "openai/gpt-5.2", "nowhere/x"] }, imageModel: { primary: "openrouter/anthropic/claude-sonnet-4-5" }, models: { "anthropic/claude-sonnet-4-5": { alias: "sonnet" } }, sandbox: { mode: "non-main" }, heartbeat: { every: "30m" } }, list: [{ id: "main", default: true }, { id: "work" }] },
        tools: { allow: ["exec", "process", "read", "write", "edit", "apply_patch"], deny: ["browser", "nodes"] },
        models: { providers: { "custom-proxy": { baseUrl: "http://localhost:4000/v1", apiKey: "\${LITELLM_KEY}", api: "openai-responses", headers: { x: "y" }, models: [] }, bedrock: { api: "bedrock-converse" } } },
        mcp: { servers: { time: { command: "uvx", args: ["mcp-server-time"] } } },
        skills: { load: { extraDirs: ["/srv/skills"] }, entries: { peekaboo: { enabled: false }, banana: { enabled: true, env: { GEMINI_API_KEY: "k-6" } } } },
        gateway: { port: 18789, auth: { mode: "token", token: "k-7" } }, hooks: { enabled: true, token: "k-8" }, cron: { enabled: true, maxConcurrentRuns: 2 },
      }`,
      '.env': 'TG_TOKEN=k-9\nLITELLM_KEY=k-10\nOPENCLAW_GATEWAY_TOKEN=k-11\n',
      'agents/main/agent/auth-profiles.json':
        '{"version":1,"profiles":{"anthropic:a":{"type":"api_key","provider":"anthropic","key":"k-12"},"anthropic:b":{"type":"api_key","provider":"anthropic","key":"k-13"},"openai:c":{"type":"api_key","provider":"openai","keyRef":{"source":"env","id":"OPENAI_API_KEY"}},"openai-codex:d":{"type":"oauth","access":"k-14"}}}',
      'credentials/telegram-default-allowFrom.json': '{"version":1,"allowFrom":["777"]}',
      'credentials/telegram-second-allowFrom.json': '{"version":1,"allowFrom":["778"]}',
      'credentials/whatsapp-allowFrom.json': '{"allowFrom":["+1"]}',
      'cron/jobs.json':
        '{"version":1,"jobs":[{"id":"j1","name":"Brief","enabled":true,"schedule":{"kind":"cron","expr":"0 7 * * *","tz":"America/Chicago"},"payload":{"kind":"agentTurn","message":"Sum up"},"delivery":{"mode":"announce","channel":"telegram","to":"-1001:topic:99"}},{"id":"j2","schedule":{"kind":"at","at":"2027-01-01T08:00:00"},"payload":{"kind":"systemEvent","text":"Remind me"}},{"id":"j3","schedule":{"kind":"every","everyMs":3600000},"payload":{"message":"x"},"enabled":false},{"id":"j4","schedule":{"kind":"moon"},"payload":{"message":"x"}}]}',
      'workspace/SOUL.md': '# Soul\nBe calm.',
      'workspace/IDENTITY.md': 'Name: Clawd',
      'workspace/AGENTS.md': 'Read memory/.',
      'workspace/MEMORY.md':
        '# MEMORY.md\n\n## People\n- Ada likes tea\n- **Bob:**\n\nA paragraph\nof two lines.\n<!-- hidden -->\n---\n',
      'workspace/USER.md': '---\nsummary: x\n---\n- Name: Eve\n',
      'workspace/memory/2026-05-01.md': 'a day',
      'workspace/HEARTBEAT.md': 'x',
      'workspace/skills/a/SKILL.md': '---\nname: a\ndescription: a\n---\nown',
      'skills/a/SKILL.md': '---\nname: a\ndescription: a\n---\nshared',
      'skills/b/SKILL.md': '---\nname: b\ndescription: b\n---\nshared',
    },
    expected: {
      model: 'claude-sonnet-4-5',
      provider: 'anthropic',
      fallback_providers: [
        { provider: 'anthropic', model: 'claude-opus-4-6' },
        { provider: 'openai', model: 'gpt-5.2' },
      ],
      'auxiliary.vision.provider': 'openrouter',
      'providers.custom-proxy': {
        base_url: 'http://localhost:4000/v1',
        api_mode: 'codex_responses',
        key_env: 'LITELLM_KEY',
      },
      'platforms.telegram.token': reference('TG_TOKEN'),
      'platforms.telegram.allow_from': ['42', '43'],
      'platforms.telegram.group_allow_from': ['44'],
      'platforms.telegram.unauthorized_dm_behavior': 'ignore',
      'platforms.telegram.channel_prompts': { '99': 'Stay on topic.', '-1001': 'Be brief.' },
      'platforms.telegram.free_response_chats': ['-1001'],
      'platforms.discord.allow_from': ['123456789012345678'],
      'platforms.discord.group_allow_from': ['555555'],
      'platforms.discord.group_allowed_chats': ['222222'],
      'platforms.slack.group_allowed_chats': ['C1'],
      'roles.owners': ['telegram:42', 'discord:123456789012345678'],
      'agent.disabled_toolsets': [
        'browser',
        'web',
        'cronjob',
        'messaging',
        'memory',
        'delegation',
        'vision',
        'image_gen',
        'tts',
      ],
      'session_reset.mode': 'both',
      'reset_by_platform.discord.mode': 'idle',
      'display.busy_input_mode': 'queue',
      'log.level': 'debug',
      timezone: 'America/Chicago',
    },
    variables: {
      OPENROUTER_API_KEY: 'k-1',
      GROQ_API_KEY: 'k-2',
      DISCORD_BOT_TOKEN: 'k-3',
      SLACK_APP_TOKEN: 'k-5',
      GEMINI_API_KEY: 'k-6',
    },
    left: [
      'models.providers.bedrock',
      'gateway',
      'hooks.token',
      'agents.list: work',
      'OPENCLAW_GATEWAY_TOKEN',
      'job 4',
      'openai-codex:d',
    ],
  },
  {
    name: 'several bots, access groups and open groups',
    files: {
      'openclaw.json': `{
        $include: "./parts/agents.json5",
        accessGroups: { ops: { type: "message.senders", members: { telegram: ["42", "43"], discord: ["discord:555555"] } } },
        channels: {
          telegram: { defaultAccount: "home", dmPolicy: "open", allowFrom: ["*"], groupPolicy: "open", accounts: { home: { botToken: "k-1" }, work: { botToken: "k-2", dmPolicy: "allowlist", allowFrom: ["accessGroup:ops"], groupPolicy: "disabled" } } },
          discord: { enabled: false, token: "k-3", dmPolicy: "disabled", groupPolicy: "open", guilds: { "999999": { channels: { "111111": {} } } } },
        },
      }`,
      'parts/agents.json5': '{ agents: { defaults: { model: "moonshot/kimi-k2" } } }',
      'moltbot.json': '{}',
    },
    expected: {
      provider: 'kimi',
      'platforms.telegram.allow_all_users': true,
      'platforms.telegram.group_allowed_chats': ['*'],
      'platforms.telegram.accounts.work.token': reference('TELEGRAM_BOT_TOKEN_WORK'),
      'platforms.telegram.accounts.work.allow_from': ['42', '43'],
      'platforms.discord.enabled': false,
      'platforms.discord.group_allowed_chats': ['111111'],
      'roles.members': ['telegram:42', 'telegram:43'],
    },
    variables: { TELEGRAM_BOT_TOKEN: 'k-1', TELEGRAM_BOT_TOKEN_WORK: 'k-2' },
  },
  {
    name: 'everybody may write directly, and groups are limited',
    files: {
      'openclaw.json': `{ agents: { defaults: { model: "anthropic/claude-sonnet-4-5" } }, tools: { profile: "messaging" },
        channels: { telegram: { botToken: "k-1", dmPolicy: "open", allowFrom: ["*", "42"], groups: { "-1001": {} } } } }`,
    },
    expected: {
      'platforms.telegram.allow_from': ['42'],
      'platforms.telegram.allow_all_users': undefined,
      'platforms.telegram.group_allowed_chats': undefined,
      'agent.disabled_toolsets': [
        'terminal',
        'file',
        'browser',
        'web',
        'cronjob',
        'memory',
        'vision',
        'image_gen',
        'tts',
        'code_execution',
      ],
    },
    variables: { TELEGRAM_BOT_TOKEN: 'k-1' },
    left: ['channels.telegram.allowFrom'],
  },
]
