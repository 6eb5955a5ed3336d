/**
 * Every key of Hermes' configuration reference is read here, or is reported as one without effect. Which of the two is computed from
 * the types of the configuration, so that a key that is implemented cannot stay in the list of those without effect.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { z } from 'zod'
import { gatewayShapes, gatewayVariables, openConfig } from '../../src/app/config.ts'
import { keyAliases } from '../../src/app/config-compatibility.ts'
import { readEnvironment } from '../../src/config/environment.ts'
import { dottedPath } from '../../src/config/issue.ts'
import { applyKeyAliases } from '../../src/config/key-aliases.ts'
import { typeAt } from '../../src/config/overrides.ts'
import { childType, knownKeys } from '../../src/config/schema-introspection.ts'
import { withValue } from '../../src/config/tree.ts'
import { findUnusedKey } from '../../src/config/unknown-keys.ts'
import { unusedKeys } from '../../src/config/unused-keys.ts'
import { createHomeLayout, type HomeLayout } from '../../src/lib/home.ts'
import { silentLog } from '../../src/lib/log.ts'
import { createSecretRegistry } from '../../src/lib/redact.ts'
import { discoverPlatforms } from '../../src/platforms/registry.ts'
import { tempHome } from '../kit/temp-home.ts'
import { hermesExampleKeys } from './hermes-example.ts'

const found = discoverPlatforms({
  directories: [fileURLToPath(new URL('../../platforms', import.meta.url))],
  log: silentLog,
})
const shapes = gatewayShapes(found.platforms)

const auxiliary = (task: string, timeout = 30): Readonly<Record<string, unknown>> => ({
  [`auxiliary.${task}.model`]: 'small',
  [`auxiliary.${task}.provider`]: 'auto',
  [`auxiliary.${task}.base_url`]: 'http://127.0.0.1:9/v1',
  [`auxiliary.${task}.api_key`]: 'k',
  [`auxiliary.${task}.timeout`]: timeout,
})

/** The configuration reference of seed 004 with a value for each key. */
const seedReference: Readonly<Record<string, unknown>> = {
  model: 'gpt-5.2',
  provider: 'openai',
  base_url: 'http://127.0.0.1:9/v1',
  api_key: 'k',
  personality: 'SOUL.md',
  max_iterations: 90,
  reasoning_effort: 'medium',
  'terminal.backend': 'local',
  'terminal.timeout': 180,
  'terminal.docker_image': 'python:3.11',
  'terminal.container_persistent': true,
  'terminal.env_passthrough': ['EDITOR'],
  'compression.enabled': true,
  'compression.threshold_percent': 50,
  'compression.protect_last_n': 20,
  'compression.summary_model': 'small',
  ...auxiliary('vision'),
  ...auxiliary('web_extract'),
  ...auxiliary('compression'),
  ...auxiliary('approval'),
}

/** Other keys that the text of seed 004 names. */
const seedText: Readonly<Record<string, unknown>> = {
  'delegation.max_spawn_depth': 2,
  'delegation.max_concurrent_children': 3,
  'credential_pool_strategies.openai': 'fill_first',
  'plugins.enabled': ['one'],
  'memory.provider': 'local',
}

/** The keys of the gateway in the contract (hermes.md §3.14), in the main spelling. */
const contractKeys: Readonly<Record<string, unknown>> = {
  ...Object.fromEntries(
    ['telegram', 'discord', 'slack'].flatMap((name) =>
      Object.entries({
        enabled: false,
        model: 'a',
        provider: 'openai',
        'home_channel.chat_id': '1',
        'home_channel.name': 'Home',
        'home_channel.thread_id': '2',
        reply_to_mode: 'first',
        gateway_restart_notification: true,
        typing_indicator: true,
        'channel_overrides.5.model': 'b',
        'extra.channel_prompts': { '1': 'x' },
        require_mention: true,
      }).map(([key, value]) => [`platforms.${name}.${key}`, value]),
    ),
  ),
  reset_triggers: ['/new'],
  'session_reset.mode': 'none',
  'quick_commands.hi': { type: 'alias', target: '/status' },
  sessions_dir: 'sessions',
  write_sessions_json: true,
  always_log_local: true,
  filter_silence_narration: true,
  'stt.enabled': true,
  stt_echo_transcripts: true,
  group_sessions_per_user: true,
  thread_sessions_per_user: false,
  max_concurrent_sessions: 4,
  multiplex_profiles: false,
  loop_watchdog: true,
  systemd_watchdog_seconds: 30,
  unauthorized_dm_behavior: 'pair',
  'streaming.enabled': true,
  session_store_max_age_days: 90,
  profile_routes: [],
  trust_env: false,
  'message_timestamps.enabled': false,
  delivery_ledger: true,
  'security.redact_secrets': true,
  'privacy.redact_pii': true,
}

type Effect = 'read' | 'unused' | 'security' | 'unknown'

function effectOf(key: string): Effect {
  const parts = key.split('.')
  const aliased = applyKeyAliases(withValue({}, parts, 'x'), keyAliases(found.platforms))
  const path = aliased.leftOver.length > 0 ? parts : pathIn(aliased.tree)
  if (aliased.leftOver.length === 0 && isRead(path)) return 'read'
  return findUnusedKey(path, unusedKeys)?.kind ?? 'unknown'
}

/** A key below a mapping with free names is read, too. */
function isRead([section = '', ...parts]: readonly string[]): boolean {
  let type: z.ZodType | undefined = Object.hasOwn(shapes, section)
    ? Object.entries(shapes).find(([name]) => name === section)?.[1]
    : undefined
  for (const part of parts) {
    if (type === undefined) return false
    const child = childType(type, part)
    if (child === undefined) return knownKeys(type) === undefined
    type = child
  }
  return type !== undefined
}

function pathIn(tree: unknown): string[] {
  if (typeof tree !== 'object' || tree === null || Array.isArray(tree)) return []
  const [entry] = Object.entries(tree)
  return entry === undefined ? [] : [entry[0], ...pathIn(entry[1])]
}

test('every key of the example of Hermes has an effect, or a reason why it has none', () => {
  assert.ok(hermesExampleKeys.length > 300)
  const unknown = hermesExampleKeys.filter((key) => effectOf(key) === 'unknown')
  assert.deepEqual(unknown, [])
})

test('a key without effect is reported with the reason, and with what to use instead', (t) => {
  const home = createHomeLayout(tempHome(t))
  writeFileSync(home.configFile, 'tool_loop_guardrails: {warnings_enabled: true}\nmodel: {streaming: false}\n')
  const { notes, warnings } = stateOf(home)
  assert.deepEqual(warnings, [])
  assert.match(
    notes.map(({ path, message }) => `${path} ${message}`).join('\n'),
    /tool_loop_guardrails .*agent\.max_identical_calls/,
  )
  assert.match(notes.map(({ path, message }) => `${path} ${message}`).join('\n'), /model\.streaming .*always streamed/)
})

function stateOf(home: HomeLayout) {
  const environment = readEnvironment(home.envFile, {})
  const config = openConfig({
    home,
    environment: () => environment,
    platforms: found.platforms,
    secrets: createSecretRegistry(),
    saveLastGood: false,
    log: silentLog,
  })
  return config.state()
}

for (const [title, keys] of Object.entries({
  'every key of the configuration reference has an effect, or is known to have none': seedReference,
  'every key that the guide of Hermes names has an effect, or is known to have none': seedText,
  'every key of the gateway of Hermes has an effect, or is known to have none': contractKeys,
})) {
  test(title, () => {
    assert.deepEqual(
      Object.keys(keys).filter((key) => effectOf(key) === 'unknown'),
      [],
    )
  })
}

test('a file with every key of the reference names exactly those without effect', async (t) => {
  const home = createHomeLayout(tempHome(t))
  const all = { ...seedReference, ...seedText, ...contractKeys }
  const tree = Object.entries(all).reduce<unknown>((rest, [key, value]) => withValue(rest, key.split('.'), value), {})
  writeFileSync(home.configFile, JSON.stringify(tree), { mode: 0o600 })
  const { problems, warnings, notes, degraded } = stateOf(home)
  assert.deepEqual(
    [...problems, ...warnings].map(({ path, message }) => `${path}: ${message}`),
    [],
  )
  const reported = new Set(notes.map(({ path }) => path))
  const unused = Object.keys(all).filter((key) => effectOf(key) === 'unused')
  const isReported = (key: string) =>
    key.split('.').some((_, index, parts) => reported.has(dottedPath(parts.slice(0, index + 1))))
  assert.deepEqual(
    unused.filter((key) => !isReported(key)),
    [],
  )
  for (const path of reported)
    assert.ok(
      unused.some((key) => key === path || key.startsWith(`${path}.`)),
      path,
    )
  for (const key of Object.keys(all).filter((one) => effectOf(one) === 'security'))
    assert.ok(
      degraded.some((text) => text.includes(key.split('.')[0] ?? key)),
      key,
    )
})

test('no key that the gateway reads is listed as one without effect', () => {
  // A section can have keys with and without effect.
  const isReadWhole = (key: string) => {
    const type = typeAt(shapes, key.split('.'))
    return type !== undefined && knownKeys(type) === undefined
  }
  const read = unusedKeys.filter(({ key }) => !key.includes('*') && isReadWhole(key))
  assert.deepEqual(read, [])
})

test('no variable sets a key without effect', () => {
  const bound = gatewayVariables(found.platforms)
  const without = bound.filter(
    ({ path }) => typeAt(shapes, typeof path === 'string' ? path.split('.') : path) === undefined,
  )
  assert.deepEqual(
    without.map(({ variable }) => variable),
    [],
  )
})
