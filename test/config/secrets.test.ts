/**
 * Secrets of the configuration appear neither in issues and warnings nor in the log.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findEnvironmentSecrets, findSecrets, isSecretName } from '../../src/config/secrets.ts'
import { HermesError } from '../../src/lib/errors.ts'
import { createLog } from '../../src/lib/log-writer.ts'
import { createRedactor, createSecretRegistry } from '../../src/lib/redact.ts'
import { createTestHome, formatAll } from './support.ts'

describe('a secret name', () => {
  const secret = [
    'token',
    'bot_token',
    'botToken',
    'TELEGRAM_BOT_TOKEN',
    'api_key',
    'apiKey',
    'OPENAI_API_KEY',
    'signing_secret',
    'password',
    'DB_PASSWORD',
    'PGPASSWORD',
    'passphrase',
    'private_key',
    'key',
    'x-api-key',
    'credentials',
    'SMTP_PASS',
    'Authorization',
    'Set-Cookie',
  ]
  const plain = [
    'max_output_tokens',
    'tokens',
    'threshold_tokens',
    'keyboard',
    'monkey',
    'secretary',
    'allow_from',
    'tokenizer',
    'home_channel',
    'PATH',
    'COMPASS',
    'model',
    'authorization_url',
  ]
  it('is distinguished from an ordinary name', () => {
    assert.deepEqual(
      secret.filter((name) => !isSecretName(name)),
      [],
    )
    assert.deepEqual(plain.filter(isSecretName), [])
  })
})

describe('the collected secrets', () => {
  it('are strings under secret names at any depth, and passwords in addresses', () => {
    const tree = {
      api_key: 'one',
      platforms: { chat: { accounts: [{ bot_token: 'two' }], token: { main: 'three', list: ['four'] } } },
      proxy: 'http://me:five@proxy:1/',
      pin_key: 12345678,
      short_key: 12,
      max_tokens: 'no',
      name: 'no',
    }
    assert.deepEqual(findSecrets(tree), ['one', 'two', 'three', 'four', 'five', '12345678'])
    const values = { A_TOKEN: 'six', DATABASE_URL: 'postgres://u:seven@h/d', PATH: '/bin' }
    assert.deepEqual(findEnvironmentSecrets({ values, file: {}, isPublic: () => false }), ['six', 'seven'])
  })

  it('are the values of .env under any name, but for public ones and everyday text', () => {
    const secret = {
      SHORT_KEY: 'ab1de',
      WORD_TOKEN: 'geheim',
      PIN_PASS: '4711',
      UNNAMED: 'ab1de',
      MIXED: 'HunterTwo',
      SIGNED: 'hunter!two',
      LONG: 'correct horse battery',
      CHAT: '-1001234567890',
    }
    const everyday = {
      FLAG: 'true',
      DIGIT: '1',
      MODE: 'production',
      REGION: 'eu-west',
      PERSON: 'Ada Byron',
      DAY: '2026-11-24',
      WAIT: '500ms',
      SIZE: '10 MB',
      PORT: '8080',
      PUBLIC: 'gpt-4o',
      TZ: 'Pacific/Chatham',
      EMPTY: '',
    }
    const isPublic = (name: string) => name === 'PUBLIC'
    assert.deepEqual(
      findEnvironmentSecrets({ values: {}, file: { ...secret, ...everyday }, isPublic }).toSorted(),
      [...new Set(Object.values(secret))].toSorted(),
    )
  })

  it('are found in what MCP servers are given, under any name', () => {
    const headers = { 'X-Workspace': 'ws-7f3a9c1e22', Accept: 'application/json', 'X-Version': '2025-06-18' }
    const env = {
      WORKSPACE: 'Bearer 7f3a9c1e23',
      PROJECT: '/srv/project-2',
      PATH: '/opt/tool-1/bin',
      MODE: 'production',
    }
    const ref = { A: '${A_LONG_NAME_1}', URL: 'https://host-1.example/path' }
    const tree = { mcp_servers: { a: { headers, env }, b: { env: ref, command: 'server-1234567' } }, env }
    assert.deepEqual(findSecrets(tree), ['ws-7f3a9c1e22', 'Bearer 7f3a9c1e23', '7f3a9c1e23'])
  })

  it('stay redacted after they were replaced', () => {
    const secrets = createSecretRegistry()
    secrets.set('config', ['old-secret', 'tin', 'true'])
    secrets.set('token', ['other-secret'])
    const before = secrets.all()
    assert.equal(secrets.all(), before, 'the same array until something changes')
    secrets.set('config', ['new-secret'])
    assert.deepEqual([...secrets.all()].sort(), ['new-secret', 'old-secret', 'other-secret'])
  })
})

/** Locations where a user may put a secret, correct or not. Each is a config line and the variable that it may need. */
const canaries = Array.from({ length: 24 }, (_, index) => `canary-${String(index).padStart(2, '0')}-${'zq'.repeat(4)}`)
const [first = ''] = canaries

describe('twenty-four canaries', () => {
  it('in an invalid config, its variables and .env never appear in an issue, a warning or the log', (t) => {
    const { config: write, env, load } = createTestHome(t)
    write(
      [
        `api_key: [${canaries[0]}]`,
        `model: {token: ${canaries[1]}}`,
        `provider: \${SOME_TOKEN}`,
        `max_iterations: \${MY_SECRET}`,
        'http:',
        `  token: ${canaries[4]?.slice(0, 15)}`,
        `  port: "https://u:${canaries[5]}@h/"`,
        `  host: [${canaries[6]}]`,
        `  unknown_key: ${canaries[7]}`,
        'platforms:',
        '  chat:',
        `    token: [${canaries[8]}]`,
        `    pin: {a: ${canaries[9]}}`,
        `    enabled: "Bearer ${canaries[10]}"`,
        '    accounts:',
        `      one: {token: {deep: ${canaries[11]}}}`,
        `      two: "?token=${canaries[12]}"`,
        'agent:',
        `  timeout: "password=${canaries[13]}"`,
        `  verbose: \${CHAT_BOT_TOKEN}`,
        'log:',
        `  level: "\${SMTP_PASS} and more text so that the value has to be cut somewhere in the middle"`,
        'auth_token:',
        `  nested: {list: [${canaries[16]}, {x: ${canaries[17]}}]}`,
      ].join('\n'),
      0o644,
    )
    env(
      `SOME_TOKEN=${canaries[2]}\nMY_SECRET=${canaries[3]}\nbroken ${canaries[18]}\nQUOTE="${canaries[19]}\nSMTP_PASS=${canaries[15]}\n`,
    )
    const secrets = createSecretRegistry()
    const { config, lines } = load(
      { CHAT_BOT_TOKEN: canaries[14] ?? '', HERMES_HTTP_PORT: `${canaries[20]}`, HERMES_PASSWORD: `${canaries[21]}` },
      { secrets },
    )
    const state = config.state()
    assert.ok(state.problems.length > 12, formatAll(state.problems).join('\n'))
    assert.ok(state.warnings.length > 2)
    const shown = JSON.stringify([state, lines, formatAll(state.problems), formatAll(state.warnings)])
    const stem = /canary-\d\d/g
    // HERMES_HTTP_PORT is not secret, neither by its name nor by its form: an invalid port is shown.
    assert.deepEqual(
      [...new Set(shown.match(stem) ?? [])].filter((found) => found !== 'canary-20'),
      [],
    )
  })

  it('in a valid config are known to the redactor, and no log line shows one', (t) => {
    const { config: write, env, load } = createTestHome(t)
    write(
      [
        `api_key: ${canaries[0]}`,
        `http: {token: "${canaries[1]}"}`,
        'platforms:',
        '  chat:',
        `    token: \${A_TOKEN}`,
        `    pin: ${canaries[3]}`,
        `    accounts: {one: {token: ${canaries[4]}}, two: {token: "\${UNNAMED}"}}`,
        'plugins:',
        '  entries:',
        `    mine: {deep: [{client_secret: ${canaries[6]}}], url: "https://me:${canaries[7]}@h/"}`,
        `    other: {credentials: {user: ${canaries[8]}, list: [${canaries[9]}]}}`,
      ].join('\n'),
    )
    env(`A_TOKEN=${canaries[2]}\nUNNAMED=${canaries[5]}\nOPENAI_API_KEY="${canaries[10]}"\n`)
    const secrets = createSecretRegistry()
    const { config } = load(
      { SIGNING_SECRET: `${canaries[11]}`, DATABASE_URL: `postgres://u:${canaries[12]}@h/d` },
      { secrets },
    )
    assert.deepEqual(config.state().problems, [])
    const known = canaries.slice(0, 13)
    assert.deepEqual(
      known.filter((canary) => !secrets.all().includes(canary)),
      [],
    )

    const lines: string[] = []
    const redactor = createRedactor({ secrets: secrets.all })
    for (const pretty of [true, false]) {
      const log = createLog({ level: 'debug', pretty, stream: { write: (text) => lines.push(text) }, redactor })
      for (const canary of known) {
        const cause = Object.assign(new Error(`fetch https://h/${encodeURIComponent(canary)}`), { code: canary })
        const error = new HermesError('provider/network', canary, { cause: new Error('why', { cause }), hint: canary })
        log.error(
          {
            event: 'test.failed',
            err: error,
            [canary]: { list: [canary, { url: new URL(`https://h/?q=${canary}`) }] },
          },
          `message ${canary}`,
        )
        log
          .child({ header: Buffer.from(`user:${canary}`).toString('base64') })
          .warn({ event: 'test.sent', body: JSON.stringify({ canary }) }, 'sent')
      }
    }
    assert.equal(lines.length, known.length * 4)
    const all = lines.join('')
    for (const canary of known) {
      assert.ok(!all.includes(canary), canary)
      assert.ok(!all.includes(Buffer.from(`user:${canary}`).toString('base64').slice(8, -4)), canary)
    }
  })

  it('that are unset leave the name of their variable readable', (t) => {
    const { config: write, load } = createTestHome(t)
    write(
      `platforms: {chat: {accounts: {work: {token: "\${WORK_BOT_TOKEN}"}, play: {token: "${first}\${PLAY_TOKEN}"}}}}`,
    )
    const secrets = createSecretRegistry()
    const { config } = load({}, { secrets })
    const redact = createRedactor({ secrets: secrets.all })
    const shown = formatAll(config.state().problems)
      .map((text) => redact(text))
      .join('\n')
    assert.match(shown, /token: \$\{WORK_BOT_TOKEN\}/)
    assert.equal(redact(`${first}\${PLAY_TOKEN}`), '[redacted]')
  })

  it('that are replaced while the process runs stay redacted, old and new', (t) => {
    const { env, load } = createTestHome(t)
    const secrets = createSecretRegistry()
    env(`A_TOKEN=${first}\n`)
    const { config } = load({}, { secrets })
    env(`A_TOKEN=${canaries[1]}\n`)
    config.reload()
    const redact = createRedactor({ secrets: secrets.all })
    assert.equal(redact(`${first} ${canaries[1]}`), '[redacted] [redacted]')
  })
})

describe('a config that other users can read', () => {
  it('causes a warning when it contains secrets itself', (t) => {
    const { layout, config: write, load } = createTestHome(t)
    write('api_key: abcdefgh\n', 0o640)
    assert.deepEqual(formatAll(load().config.state().warnings), [
      `config.yaml  is readable by other users and contains secrets (mode 640); run: chmod 600 ${layout.configFile}`,
    ])
  })

  it('is accepted when it only refers to them', (t) => {
    const { config: write, load } = createTestHome(t)
    write(`api_key: \${KEY}\nmodel: x\n`, 0o644)
    assert.deepEqual(load({ KEY: 'abcdefgh' }).config.state().warnings, [])
  })
})
