/**
 * The values that a start takes from files and variables, and its fallbacks.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { readEnvironment } from '../../src/config/environment.ts'
import { createConfig } from '../../src/config/load.ts'
import { isHermesError } from '../../src/lib/errors.ts'
import { silentLog } from '../../src/lib/log.ts'
import { createTestHome, formatAll } from './support.ts'

describe('a home without a config', () => {
  it('gives the defaults and is not degraded', (t) => {
    const { layout, load } = createTestHome(t)
    const { config, lines } = load()
    assert.equal(config.current().http.port, 8642)
    const { source, problems, warnings, degraded, pendingRestart } = config.state()
    assert.deepEqual([source, problems, warnings, degraded, pendingRestart], ['defaults', [], [], [], []])
    assert.deepEqual(lines, [])
    assert.ok(!existsSync(layout.lastGoodConfigFile))
  })

  it('still uses its variables', (t) => {
    const { load } = createTestHome(t)
    assert.equal(load({ HERMES_HTTP_PORT: '9000' }).config.current().http.port, 9000)
  })
})

describe('a file', () => {
  it('is used, and a copy is kept that only the owner can read', (t) => {
    const { layout, config: write, load } = createTestHome(t)
    write('model: gpt-5.2 # mine\nhttp:\n  port: 9000\n')
    const { config } = load()
    assert.equal(config.current().model, 'gpt-5.2')
    assert.deepEqual(config.current().http, { host: '127.0.0.1', port: 9000, allowed_hosts: [] })
    assert.equal(config.state().source, 'file')
    assert.equal(readFileSync(layout.lastGoodConfigFile, 'utf8'), readFileSync(layout.configFile, 'utf8'))
    assert.equal(statSync(layout.lastGoodConfigFile).mode & 0o777, 0o600)
  })

  it('leaves no copy when a read-only command reads it', (t) => {
    const { layout, config: write, load } = createTestHome(t)
    write('model: x\n')
    assert.equal(load({}, { saveLastGood: false }).config.current().model, 'x')
    assert.ok(!existsSync(layout.lastGoodConfigFile))
  })

  it('means the defaults when it is empty or has empty keys', (t) => {
    const { config: write, load } = createTestHome(t)
    for (const text of ['', '# nothing\n', 'http:\n', 'http:\n  port:\n  allowed_hosts:\nmodel:\n']) {
      write(text)
      const { config } = load()
      assert.deepEqual(formatAll(config.state().problems), [])
      assert.deepEqual(config.current().http, { host: '127.0.0.1', port: 8642, allowed_hosts: [] })
    }
  })

  it('with Windows line ends and a byte order mark has the right positions', (t) => {
    const { config: write, load } = createTestHome(t)
    write('\uFEFFmodel: x\r\nhttp:\r\n  port: no\r\n')
    const [problem] = load().config.state().problems
    assert.deepEqual([problem?.line, problem?.column, problem?.path], [3, 9, 'http.port'])
  })

  it('reports all its issues at once, each with its location', (t) => {
    const { config: write, load } = createTestHome(t)
    write(
      [
        'model: [x]',
        'http:',
        '  port: abc',
        '  allowed_hosts:',
        '    - good.example',
        '    - ""',
        '  token: short',
        'log: {level: loud}',
        'agent:',
        '  timeout: -1',
        `  verbose: \${NOT_SET}`,
        'provider: opanai',
        'max_iterations: 0',
        'platforms:',
        '  chat:',
        '    accounts:',
        '      one: {token: {a: b}}',
      ].join('\n'),
    )
    assert.deepEqual(formatAll(load().config.state().problems), [
      'config.yaml:1:8  model: expected a text, found a list',
      'config.yaml:3:9  http.port: expected a whole number from 0 to 65535, found "abc"',
      'config.yaml:6:7  http.allowed_hosts[1]: expected a text that is not empty, found ""',
      'config.yaml:7:10  http.token: expected a text of at least 16 characters, found a text (not shown, it is secret)',
      'config.yaml:8:14  log.level: expected debug, info, warn or error, found "loud"',
      'config.yaml:10:12  agent.timeout: expected a number above 0, found -1',
      `config.yaml:11:12  agent.verbose: \${NOT_SET} is not set in the environment or in .env; set it, or write \${NOT_SET:-default}`,
      'config.yaml:12:11  provider: expected openai, anthropic or demo, found "opanai"',
      'config.yaml:13:17  max_iterations: expected a whole number from 1 to 1000, found 0',
      'config.yaml:17:20  platforms.chat.accounts.one.token: expected a text, found keys with values',
    ])
  })
})

describe('an unknown key', () => {
  it('is reported with its location and the key that was probably meant, and is ignored', (t) => {
    const { config: write, load } = createTestHome(t)
    write(
      [
        'modle: x',
        'http:',
        '  hsot: 0.0.0.0',
        '  port: 9000',
        'log:',
        '  leval: debug',
        'platforms:',
        '  chat:',
        '    acounts: {}',
        '    accounts:',
        '      one: {tokn: x}',
        'compresion: {enabled: true}',
        'something_else: 1',
      ].join('\n'),
    )
    const { config, messages } = load()
    const expected = [
      'config.yaml:1:1  modle: unknown key "modle"; did you mean "model"?',
      'config.yaml:3:3  http.hsot: unknown key "hsot"; did you mean "host"?',
      'config.yaml:6:3  log.leval: unknown key "leval"; did you mean "level"?',
      'config.yaml:9:5  platforms.chat.acounts: unknown key "acounts"; did you mean "accounts"?',
      'config.yaml:11:13  platforms.chat.accounts.one.tokn: unknown key "tokn"; did you mean "token"?',
      'config.yaml:12:1  compresion: unknown key "compresion"; did you mean "compression"?',
      'config.yaml:13:1  something_else: unknown key "something_else"',
    ]
    assert.deepEqual(formatAll(config.state().warnings), expected)
    assert.deepEqual(messages(), expected)
    assert.deepEqual(config.state().problems, [])
    assert.deepEqual(config.state().degraded, [])
    assert.equal(config.current().http.port, 9000)
    assert.equal(config.current().log.level, 'info')
  })

  it('is a note where Hermes has one, and degrades the state where it restricts something there', (t) => {
    const { config: write, load } = createTestHome(t)
    write(
      'compression: {enabled: true, deep: {x: 1}}\nhttp: {proxy: x}\nplatforms: {chat: {extra: {a: 1}}}\nplugins: {entries: {mine: {any: [1]}}}\n',
    )
    const { config, lines } = load()
    const { warnings, notes, degraded, problems } = config.state()
    assert.deepEqual([warnings, problems], [[], []])
    assert.deepEqual(
      notes.map(({ path, line }) => [path, line]),
      [
        ['compression', 1],
        ['platforms.chat.extra', 3],
      ],
    )
    assert.equal(degraded.length, 1)
    assert.match(degraded[0] ?? '', /^config\.yaml:2:8 {2}http\.proxy: /)
    for (const note of formatAll(notes))
      assert.ok(lines.some(({ level, message }) => level === 'info' && message === note))
    assert.deepEqual(config.current().plugins.entries, { mine: { any: [1] } })
  })
})

describe('variables', () => {
  it('take precedence over .env, and .env over the file', (t) => {
    const { config: write, env, load } = createTestHome(t)
    write('http: {host: file.example, port: 1}\nlog: {level: warn}\n')
    env('HERMES_HTTP_HOST=env.example\nHERMES_HTTP_PORT=2\n')
    const { config } = load({ HERMES_HTTP_PORT: '3' })
    assert.deepEqual(config.current().http, { host: 'env.example', port: 3, allowed_hosts: [] })
    assert.equal(config.current().log.level, 'warn')
    assert.equal(process.env['HERMES_HTTP_HOST'], undefined)
    assert.equal(config.environment().values['HERMES_HTTP_HOST'], 'env.example')
  })

  it('become numbers, flags and lists as the type requires', (t) => {
    const { load } = createTestHome(t)
    const { config } = load({
      HERMES_VERBOSE: 'Yes',
      CHAT_ALLOWED_USERS: ' 12, ,34 ',
      CHAT_BOT_TOKEN: '123456',
      HERMES_HTTP_PORT: ' 80 ',
    })
    assert.equal(config.current().agent.verbose, true)
    assert.equal(config.current().http.port, 80)
    assert.deepEqual(config.current().platforms.chat, { token: '123456', allow_from: ['12', '34'] })
  })

  it('that are empty count as unset', (t) => {
    const { config: write, load } = createTestHome(t)
    write('http: {port: 1}\n')
    assert.equal(load({ HERMES_HTTP_PORT: '' }).config.current().http.port, 1)
  })

  it('take precedence in their order when several set one value', (t) => {
    const { load } = createTestHome(t)
    const { config } = load({ CHAT_TOKEN: 'second', CHAT_BOT_TOKEN: 'first' })
    assert.equal(config.current().platforms.chat?.token, 'first')
  })

  it('that are invalid are reported and ignored; the file stays in use', (t) => {
    const { config: write, env, load } = createTestHome(t)
    write('model: x\nhttp: {port: 9000}\n')
    env('# level\nHERMES_LOG_LEVEL=loud\n')
    const { config } = load({ HERMES_HTTP_PORT: '70000', HERMES_HTTP_HOST: 'h' })
    assert.equal(config.state().source, 'file')
    assert.deepEqual(config.current().http, { host: 'h', port: 9000, allowed_hosts: [] })
    assert.deepEqual(formatAll(config.state().problems).sort(), [
      '.env:2  log.level (HERMES_LOG_LEVEL): expected debug, info, warn or error, found "loud"',
      'environment  http.port (HERMES_HTTP_PORT): expected a whole number from 0 to 65535, found 70000',
    ])
    assert.equal(config.state().degraded.length, 2)
    for (const variable of ['HERMES_LOG_LEVEL', 'HERMES_HTTP_PORT'])
      assert.ok(
        config.state().degraded.some((reason) => reason.includes(variable)),
        variable,
      )
  })

  it('in an invalid line of .env degrade the state and are reported; all others apply', (t) => {
    const { env, load } = createTestHome(t)
    env('HERMES_HTTP_PORT 9000\nHERMES_HTTP_HOST=h\n')
    const { config } = load()
    assert.deepEqual(formatAll(config.state().problems), ['.env:1  expected NAME=value; the line is skipped'])
    assert.deepEqual(config.state().degraded, ['.env:1  expected NAME=value; the line is skipped'])
    assert.equal(config.current().http.host, 'h')
  })
})

describe('references', () => {
  it('are replaced in strings at any depth', (t) => {
    const { config: write, env, load } = createTestHome(t)
    write(
      [
        `model: \${NAME}-\${SIZE:-large}`,
        `api_key: "\${KEY}"`,
        `http: {host: "$\${NAME}", port: "\${PORT}", allowed_hosts: ["\${NAME}.example", "\${EMPTY:-}x"]}`,
        `agent: {verbose: "\${FLAG}", timeout: "\${NOTHING:-2.5}"}`,
        `platforms: {chat: {allow_from: "\${USERS}", token: "\${DIGITS}"}}`,
        `\${NAME}: kept`,
      ].join('\n'),
    )
    env('KEY=from-env-file\n')
    const { config } = load({ NAME: 'gpt', PORT: '9000', FLAG: 'on', USERS: '1,2', DIGITS: '0123' })
    assert.deepEqual(formatAll(config.state().problems), [])
    const { model, api_key, http, agent, platforms } = config.current()
    assert.equal(model, 'gpt-large')
    assert.equal(api_key, 'from-env-file')
    assert.deepEqual(http, { host: `\${NAME}`, port: 9000, allowed_hosts: ['gpt.example', 'x'] })
    assert.deepEqual(agent, { verbose: true, timeout: 2.5 })
    assert.deepEqual(platforms.chat, { allow_from: ['1', '2'], token: '0123' })
    assert.match(formatAll(config.state().warnings)[0] ?? '', /"\$\{NAME\}"/, 'references in keys are not replaced')
  })

  it('to an unset variable are only a warning in a key that no module reads', (t) => {
    const { config: write, load } = createTestHome(t)
    write(`model: x\ncompression: {command: "echo \${SHELL_VARIABLE}"}\n`)
    const { config } = load()
    assert.equal(config.state().source, 'file')
    assert.match(
      formatAll(config.state().warnings)[0] ?? '',
      /^config\.yaml:2:24 {2}compression\.command: \$\{SHELL_VARIABLE\}/,
    )
  })

  it('in unquoted braces are one issue, not fifty', (t) => {
    const { config: write, load } = createTestHome(t)
    write(`http: {port: \${PORT}, host: x}\nagent: {timeout: 1}\nmodel: x\n`)
    const { problems } = load({ PORT: '1' }).config.state()
    assert.equal(problems.length, 1)
    assert.deepEqual([problems[0]?.line, problems[0]?.path], [1, ''])
  })

  it('in the value of a variable are not resolved again', (t) => {
    const { config: write, load } = createTestHome(t)
    write(`model: \${A}\n`)
    assert.equal(load({ A: `\${B}`, B: 'x' }).config.current().model, `\${B}`)
  })
})

describe('the last good copy', () => {
  it('is used when the file is invalid, and the reason is reported', (t) => {
    const { config: write, load } = createTestHome(t)
    write('model: good\nhttp: {port: 9000}\n')
    load()
    write('model: bad\nhttp: {port: [}\n')
    const { config } = load()
    assert.equal(config.current().model, 'good')
    assert.equal(config.current().http.port, 9000)
    assert.equal(config.state().source, 'last-good')
    assert.match(config.state().degraded[0] ?? '', /\bconfig\.yaml:2:.*\b\d{4}-\d\d-\d\dT/)
  })

  it('also uses variables, and keeps its references', (t) => {
    const { layout, config: write, load } = createTestHome(t)
    write(`api_key: \${KEY}\n`)
    load({ KEY: 'first-secret' })
    assert.ok(!readFileSync(layout.lastGoodConfigFile, 'utf8').includes('first-secret'), 'no secret is copied')
    write('model: [')
    const { config } = load({ KEY: 'second-secret', HERMES_HTTP_PORT: '7' })
    assert.equal(config.current().api_key, 'second-secret')
    assert.equal(config.current().http.port, 7)
  })

  it('is not replaced by an invalid file', (t) => {
    const { layout, config: write, load } = createTestHome(t)
    write('model: good\n')
    load()
    write('model: [')
    load()
    assert.equal(readFileSync(layout.lastGoodConfigFile, 'utf8'), 'model: good\n')
  })

  it('leads to the defaults when it is invalid too, with chat platforms disabled', (t) => {
    const { layout, config: write, load } = createTestHome(t)
    write('model: good\n')
    load()
    write('model: [')
    writeFileSync(layout.lastGoodConfigFile, '\0\0\0')
    const { config } = load({ CHAT_BOT_TOKEN: 'abcdefgh', HERMES_HTTP_PORT: '7' })
    assert.equal(config.state().source, 'defaults')
    assert.deepEqual(config.current().platforms, {}, 'no platform, although a token is set')
    assert.equal(config.current().http.port, 7, 'the page stays where it was')
  })

  it('is not used after the file was deleted', (t) => {
    const { layout, config: write, load } = createTestHome(t)
    write('model: good\n')
    load()
    rmSync(layout.configFile)
    const { config } = load()
    assert.equal(config.current().model, '')
    assert.equal(config.state().source, 'defaults')
    assert.deepEqual(config.state().degraded, [])
  })
})

describe('a module', () => {
  it('whose own defaults are invalid is a programming error and throws', (t) => {
    const { layout } = createTestHome(t)
    const load = () =>
      createConfig({
        home: layout,
        shapes: { needed: z.string() },
        environment: () => readEnvironment(layout.envFile, {}),
        environmentBindings: [],
        log: silentLog,
      })
    assert.throws(
      load,
      (error) => isHermesError(error, 'config/invalid') && /needed: expected a text, found nothing/.test(error.message),
    )
  })

  it('whose check throws is reported like any other issue', (t) => {
    const { layout, config: write } = createTestHome(t)
    write('odd: 1\n')
    const odd = z
      .unknown()
      .optional()
      .transform((value) => {
        if (value === 1) throw new Error('the check of this room failed')
        return value
      })
    const config = createConfig({
      home: layout,
      shapes: { odd },
      environment: () => readEnvironment(layout.envFile, {}),
      environmentBindings: [],
      log: silentLog,
    })
    assert.match(
      formatAll(config.state().problems)[0] ?? '',
      /^config\.yaml:1:6 {2}odd: .*the check of this room failed/,
    )
  })

  it('may define the text of its own issue', (t) => {
    const { layout, config: write } = createTestHome(t)
    write('even: 3\n')
    const even = z
      .int()
      .default(2)
      .refine((value) => value % 2 === 0, { error: 'expected an even number' })
    const config = createConfig({
      home: layout,
      shapes: { even },
      environment: () => readEnvironment(layout.envFile, {}),
      environmentBindings: [],
      log: silentLog,
    })
    assert.deepEqual(formatAll(config.state().problems), ['config.yaml:1:7  even: expected an even number, found 3'])
  })
})
