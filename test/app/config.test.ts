/**
 * One bad entry of the real configuration leaves the others in force, and the spellings of Hermes are read.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openConfig } from '../../src/app/config.ts'
import { readEnvironment } from '../../src/config/environment.ts'
import { createHomeLayout } from '../../src/lib/home.ts'
import { silentLog } from '../../src/lib/log.ts'
import { createSecretRegistry } from '../../src/lib/redact.ts'
import { discoverPlatforms } from '../../src/platforms/registry.ts'
import { tempHome } from '../kit/temp-home.ts'

const platforms = fileURLToPath(new URL('../../platforms', import.meta.url))

async function open(t: TestContext, text: string) {
  const home = createHomeLayout(tempHome(t))
  writeFileSync(join(home.root, 'config.yaml'), text, { mode: 0o600 })
  const environment = readEnvironment(home.envFile, {})
  const found = discoverPlatforms({ directories: [platforms], log: silentLog })
  return openConfig({
    home,
    environment: () => environment,
    platforms: found.platforms,
    secrets: createSecretRegistry(),
    saveLastGood: false,
    log: silentLog,
  })
}

test('a webhook with an invalid key is left out with a report, and the others remain', async (t) => {
  const good = '{url: "https://a.example/", events: agent:end}'
  const config = await open(
    t,
    `hooks: {outbound: [{url: nonsense, events: agent:end}, ${good}, {url: "https://b.example/", events: x, matcher: "["}]}\n`,
  )
  assert.deepEqual(
    config.current().hooks.outbound.map((webhook) => webhook?.url),
    [undefined, 'https://a.example/', undefined],
  )
  assert.deepEqual(
    config.state().problems.map(({ path }) => path),
    ['hooks.outbound[0].url', 'hooks.outbound[2].matcher'],
  )
})

test('the token of Slack is read in each spelling of Hermes', async (t) => {
  for (const text of [
    'platforms: {slack: {token: xoxb-1}}\n',
    'slack: {token: xoxb-1}\n',
    'gateway: {platforms: {slack: {token: xoxb-1}}}\n',
  ]) {
    const config = await open(t, text)
    assert.match(JSON.stringify(config.current().platforms['slack']), /"bot_token":"xoxb-1"/, text)
    assert.deepEqual(config.state().warnings, [], text)
  }
})

test("Hermes' keys for images of places set those of the plugins", async (t) => {
  const config = await open(
    t,
    'terminal: {modal_image: "debian:12"}\nplugins: {entries: {modal: {settings: {app: a}}}}\n',
  )
  assert.deepEqual(config.current().plugins.entries['modal']?.settings, { app: 'a', image: 'debian:12' })
  assert.deepEqual(config.state().warnings, [])
})

test('a limit that cannot be read does not become the wider default', async (t) => {
  const network = await open(t, 'terminal: {sandbox_network: ["https://example.com", example.org]}\n')
  assert.equal(network.current().terminal.sandbox_network, 'off')
  for (const text of ['{owners: ["5"]}', '{owners: ["5", "telegram:6"]}', '{members: [5]}', '{guests: ["5"]}', 'all']) {
    const config = await open(t, `roles: ${text}\n`)
    assert.deepEqual(config.current().roles.owners, ['none:none'], 'the list of no one makes no one an owner')
  }
  const lists = await open(t, 'roles: {guest: {tools: x}, chats: {"telegram:-1": {member: x}}}\n')
  const { guest, member } = lists.current().roles
  assert.deepEqual([guest.tools, guest.group_tools, member.group_tools], [[], [], []])
  assert.equal(lists.state().degraded.length, 2)
})

test('a mistyped key of the memory or of skills is reported with the nearest one, and keys of Hermes as planned', async (t) => {
  const config = await open(
    t,
    'memory: {memry_enabled: false, nudge_interval: 5}\nskills: {extrnal_dirs: [x], inline_shell: true}\n',
  )
  const { warnings, notes } = config.state()
  assert.deepEqual(
    [warnings, notes].map((all) => all.map(({ path }) => path)),
    [
      ['memory.memry_enabled', 'skills.extrnal_dirs'],
      ['memory.nudge_interval', 'skills.inline_shell'],
    ],
  )
  assert.match(warnings.map(({ message }) => message).join(), /"memory_enabled".*"external_dirs"/)
})

test('the keys of Hermes for models are read without a warning', async (t) => {
  const config = await open(
    t,
    `model: {default: m, provider: custom, base_url: "http://127.0.0.1:1", api_mode: anthropic_messages}
custom_providers: [{name: Lab, base_url: "http://127.0.0.1:2", models: {small: {context_length: 32000}}}]
delegation: {api_mode: codex_responses}
telegram: {model: m2, channel_overrides: {-1001: {model: m3, provider: "custom:lab", system_prompt: Be brief.}}}
`,
  )
  assert.deepEqual(config.state().warnings, [])
  assert.deepEqual(config.state().problems, [])
  const { api_mode, delegation, platforms: sections } = config.current()
  assert.deepEqual([api_mode, delegation.api_mode], ['anthropic_messages', 'codex_responses'])
  assert.match(JSON.stringify(sections['telegram']), /"-1001":\{"model":"m3"/)
})

const mcpCases: readonly (readonly [string, string, object])[] = [
  ['a list that is no list', 'tools: {exclude: write_file}', { enabled: false }],
  ['a word that is none of the allowed', 'approval: alwys', { enabled: false, approval: 'auto' }],
  ['a variable that is not set', 'env: {TOKEN: "${NOT_SET_ANYWHERE}"}', { enabled: false }],
  ['a valid entry', 'approval: always', { enabled: true, approval: 'always' }],
]

for (const [what, text, expected] of mcpCases)
  test(`an MCP server with ${what} is ${'enabled' in expected && expected.enabled ? 'used' : 'turned off'}, and the others are used`, async (t) => {
    const config = await open(t, `mcp_servers:\n  one: {command: a, ${text}}\n  two: {url: http://127.0.0.1/mcp}\n`)
    const { one, two } = config.current().mcp_servers
    assert.partialDeepStrictEqual(one, expected)
    assert.equal(two?.enabled, true)
  })

test('keys of Hermes for MCP servers that do nothing here are reported as such', async (t) => {
  const config = await open(
    t,
    'mcp_servers: {one: {command: a, keepalive_interval: 9, sampling: {log_level: debug}, commnd: b}}\n',
  )
  const { notes, warnings } = config.state()
  assert.deepEqual(
    notes.map(({ path }) => path),
    ['mcp_servers.one.keepalive_interval', 'mcp_servers.one.sampling.log_level'],
  )
  assert.deepEqual(
    warnings.map(({ path }) => path),
    ['mcp_servers.one.commnd'],
  )
})

test('an MCP server with both a program and an address, or with neither, is left out', async (t) => {
  const text = 'mcp_servers:\n  both: {command: a, url: http://b/}\n  neither: {timeout: 1}\n  good: {command: a}\n'
  assert.deepEqual(Object.keys((await open(t, text)).current().mcp_servers), ['good'])
})
