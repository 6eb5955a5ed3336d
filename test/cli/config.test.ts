import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { homeWith, runInProcess } from './support.ts'

const broken = `model: 7
http:
  prt: 1
  port: abc
`

test('config check lists every issue and warning with line and column, and exits with 78', async (t) => {
  const home = homeWith(t, broken)
  const { code, stdout } = await runInProcess(home.root, ['config', 'check'])
  assert.equal(code, 78)
  assert.match(stdout, /^problem {2}config\.yaml:1:8 model: .*\b7$/m)
  assert.match(stdout, /^problem {2}config\.yaml:4:9 http\.port: .*"abc"$/m)
  assert.match(stdout, /^warning {2}config\.yaml:3:3 http\.prt: .*"port"/m)
  const checked = JSON.parse((await runInProcess(home.root, ['config', 'check', '--json'])).stdout)
  assert.deepEqual([checked.problems.length, checked.warnings.length, checked.source], [2, 1, 'file'])
})

test('config check reports a valid file as valid', async (t) => {
  const home = homeWith(t, 'model: gpt-5\n')
  const { code, stdout } = await runInProcess(home.root, ['config', 'check'])
  assert.deepEqual([code, stdout.startsWith(home.configFile)], [0, true])
})

test('config show prints every value with its source, and never a secret', async (t) => {
  const home = homeWith(t, 'model: gpt-5\napi_key: sk-secret-0123456789\nbase_url: https://me:hunter2secret@host/v1\n')
  chmodSync(home.configFile, 0o600)
  writeFileSync(home.envFile, 'HERMES_LOG_LEVEL=warn\nOPENAI_API_KEY=sk-other-0123456789\n', { mode: 0o600 })
  const environment = { HERMES_HTTP_PORT: '1234' }
  const { code, stdout } = await runInProcess(home.root, ['config', 'show'], { environment })
  assert.equal(code, 0)
  const lines = stdout.split('\n')
  for (const line of [
    'model: "gpt-5"  # config.yaml:1',
    'api_key: (set, not shown)  # config.yaml:2',
    'http.host: "127.0.0.1"  # default',
    'http.port: 1234  # HERMES_HTTP_PORT in environment',
    'log.level: "warn"  # HERMES_LOG_LEVEL in .env:1',
  ]) {
    assert.ok(lines.includes(line), `${line}\n${stdout}`)
  }
  const json = (await runInProcess(home.root, ['config', 'show', '--json'], { environment })).stdout
  for (const text of [stdout, json]) assert.doesNotMatch(text, /sk-secret|sk-other|hunter2/)
  const values: unknown[] = JSON.parse(json)
  assert.equal(values.length, lines.length - 1)
})

test('config show hides every value of .env, whatever its name and its place', async (t) => {
  const colour = `\${COLOUR}`
  const home = homeWith(t, `plugins: {entries: {mine: {colour: "${colour}", list: ["a ${colour} b"]}}}\n`)
  writeFileSync(home.envFile, 'COLOUR=blue-elephant-4711\n', { mode: 0o600 })
  for (const more of [[], ['--json']]) {
    const { stdout, stderr } = await runInProcess(home.root, ['config', 'show', ...more])
    assert.match(stdout, /mine/)
    assert.doesNotMatch(stdout + stderr, /elephant/)
  }
})

test('config show warns on stderr when the file is not in effect', async (t) => {
  const { stderr, code } = await runInProcess(homeWith(t, broken).root, ['config', 'show'])
  assert.equal(code, 0)
  assert.match(stderr, /config\.yaml:1:8 /)
})

test('config schema prints a JSON Schema that includes the installed platforms', async (t) => {
  const { stdout } = await runInProcess(homeWith(t).root, ['config', 'schema'])
  const schema = JSON.parse(stdout)
  assert.equal(schema.$schema, 'https://json-schema.org/draft/2020-12/schema')
  assert.ok(Object.hasOwn(schema.properties.platforms.properties, 'web'))
  assert.equal(schema.properties.http.properties.port.maximum, 65_535)
})

test('keys of Hermes without an effect are notes, and its security settings degrade the gateway', async (t) => {
  const home = homeWith(
    t,
    'curator: {}\ncontext_engine: {x: 1}\napprovals: {mode: smart}\nsecurity: {a: 1}\nmcp_server: 1\n',
  )
  const { code, stdout } = await runInProcess(home.root, ['config', 'check', '--json'])
  assert.equal(code, 0)
  const { problems, warnings, notes, degraded } = JSON.parse(stdout)
  const pathsOf = (issues: { path: string }[]) => issues.map(({ path }) => path)
  assert.deepEqual([problems, pathsOf(warnings), pathsOf(notes)], [[], ['mcp_server'], ['curator', 'context_engine']])
  assert.deepEqual(
    degraded.map((reason: string) => /^config\.yaml:\d+:\d+ {2}([\w.]+): /.exec(reason)?.[1]),
    ['security.a'],
  )
  const text = (await runInProcess(home.root, ['config', 'check'])).stdout
  assert.deepEqual(text.match(/^\w+(?= )/gm)?.sort(), ['degraded', 'note', 'note', 'warning'])
  const status = JSON.parse((await runInProcess(home.root, ['status', '--json'])).stdout)
  assert.deepEqual(pathsOf(status.config.notes), ['curator', 'context_engine'])
  const doctor = JSON.parse((await runInProcess(home.root, ['doctor', '--json', '--offline'])).stdout)
  const about = doctor.findings.filter(
    ({ subject, state }: { subject: string; state: string }) => subject === 'Config' && state === 'note',
  )
  assert.equal(about.length, 4)
})

const hermesHome = `model:
  default: claude-sonnet-5
  provider: anthropic
  base_url: https://api.example
gateway:
  platforms:
    telegram: {enabled: true, token: "1:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}
discord:
  require_mention: false
  free_response_channels: ["1"]
slack:
  require_mention: maybe
  reply_in_thread: false
agent: {max_turns: 60, reasoning_effort: low}
terminal: {backend: dokcer}
toolsets: [hermes-cli]
http: {port: 1234}
`

test('the spellings of a Hermes home are read, and one bad key turns no other key off', async (t) => {
  const home = homeWith(t, hermesHome)
  const shown = JSON.parse((await runInProcess(home.root, ['config', 'show', '--json'])).stdout)
  const value = (path: string) => shown.find((one: { path: string }) => one.path === path)
  assert.deepEqual(
    ['model', 'provider', 'base_url', 'reasoning_effort', 'platforms.discord.require_mention', 'http.port'].map(
      (path) => [value(path)?.shown, value(path)?.origin],
    ),
    [
      ['"claude-sonnet-5"', 'config.yaml:2'],
      ['"anthropic"', 'config.yaml:3'],
      ['"https://api.example"', 'config.yaml:4'],
      ['"low"', 'config.yaml:14'],
      ['false', 'config.yaml:9'],
      ['1234', 'config.yaml:17'],
    ],
  )
  assert.equal(value('platforms.slack.reply_in_thread')?.shown, 'false')
  assert.equal(value('terminal.backend')?.shown, '"none"', 'an unknown sandbox is not replaced by this machine')
  const checked = JSON.parse((await runInProcess(home.root, ['config', 'check', '--json'])).stdout)
  assert.deepEqual(
    checked.problems.map(({ path }: { path: string }) => path),
    ['slack.require_mention', 'terminal.backend'],
  )
  assert.equal(checked.source, 'file')
})
