import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { diagnosePlatforms } from '../../src/cli/checks/diagnose-platforms.ts'
import { readSettings } from '../../src/cli/kit/settings.ts'
import type { HomeLayout } from '../../src/lib/home.ts'
import { withTimeout } from '../../src/lib/timers.ts'
import { type PlatformAccount, platformAccounts } from '../../src/platforms/accounts.ts'
import { homeWith, quietConfig, runInProcess, startHermes } from './support.ts'

/** A home with a platform `chat` whose adapter diagnoses an account with this function body. */
function homeWithPlatform(t: TestContext, diagnose: string, section = '{token: s3cret-t0ken-of-a-test}'): HomeLayout {
  const home = homeWith(t, `${quietConfig}platforms:\n  chat: ${section}\n`)
  chmodSync(home.configFile, 0o600)
  chmodSync(home.root, 0o700)
  const folder = join(home.platforms, 'chat')
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, 'plugin.yaml'),
    `name: chat
kind: platform
access: allowlist
accounts: true
config_schema:
  token: {type: string, required: true, secret: true}
`,
  )
  writeFileSync(
    join(folder, 'adapter.js'),
    `export const looks = []\nexport default { createAdapter() {}, diagnose: async ({ account, options, gatewayUrl }, signal) => { ${diagnose} } }\n`,
  )
  return home
}

async function accountsOf(home: HomeLayout): Promise<PlatformAccount[]> {
  const settings = await readSettings({ home, environment: {}, platformDirectories: [home.platforms] })
  const { platforms, gateway } = settings.config.current()
  return platformAccounts(settings.catalogue.platforms, { platforms, gateway })
}

async function linesOf(home: HomeLayout, ...words: string[]): Promise<{ code: number | null; lines: string[] }> {
  const { code, stdout } = await runInProcess(home.root, ['doctor', ...words])
  const lines = stdout.split('\n')
  const about = lines.flatMap((line, index) =>
    line.includes('Platforms: chat')
      ? [line, ...(lines[index + 1]?.startsWith('    →') ? [lines[index + 1] ?? ''] : [])]
      : [],
  )
  return { code, lines: about }
}

test('doctor passes each account to its adapter and prints the diagnosis', async (t) => {
  const home = homeWithPlatform(
    t,
    `return account === 'default'
      ? [{ state: 'ok', text: 'the bot is @ada' }, { state: 'note', text: 'it cannot read groups' }]
      : [{ state: 'problem', text: 'the token is wrong', advice: 'Ask BotFather for another one.' }]`,
    '{token: one-of-two-tokens, allow_from: ["*"], accounts: {second: {token: two-of-two-tokens}}}',
  )
  assert.deepEqual(await linesOf(home), {
    code: 1,
    lines: [
      '✓ Platforms: chat: on',
      '✓ Platforms: chat/second: on',
      '✓ Platforms: chat: the bot is @ada',
      '! Platforms: chat: it cannot read groups',
      '✗ Platforms: chat/second: the token is wrong',
      '    → Ask BotFather for another one.',
    ],
  })
})

test('doctor --offline calls no adapter', async (t) => {
  const home = homeWithPlatform(t, `throw new Error('adapter was called')`)
  const { code, lines } = await linesOf(home, '--offline')
  assert.equal(code, 0)
  assert.ok(!lines.join().includes('adapter was called'))
})

test('a disabled account and one without a token are not diagnosed', async (t) => {
  for (const section of ['{enabled: false, token: abcdefgh}', '{enabled: true}']) {
    const home = homeWithPlatform(t, `throw new Error('adapter was called')`, section)
    const { lines } = await linesOf(home)
    assert.ok(!lines.join().includes('adapter was called'), section)
  }
})

test('an adapter that fails or returns an invalid diagnosis is a problem with a hint', async (t) => {
  const failing = await linesOf(homeWithPlatform(t, `throw new Error('socket hang up')`))
  assert.equal(failing.code, 1)
  assert.match(failing.lines.at(-2) ?? '', /^✗ Platforms: chat: .*socket hang up$/)
  assert.match(failing.lines.at(-1) ?? '', /^ {4}→ .*platforms\.chat/)
  const invalid = await linesOf(homeWithPlatform(t, `return 'all is well'`))
  assert.match(invalid.lines.at(-2) ?? '', /^✗ Platforms: chat: .*adapter\.js: /)
})

test('secrets in the diagnosis of an adapter are redacted', async (t) => {
  const home = homeWithPlatform(
    t,
    `return [
      { state: 'problem', text: 'GET /bot' + options.token + '/getMe: 404', advice: 'Replace ' + options.token },
      { state: 'problem', text: 'no idea' },
    ]`,
  )
  for (const words of [[], ['--json']]) {
    const { stdout } = await runInProcess(home.root, ['doctor', ...words])
    assert.ok(!stdout.includes('s3cret-t0ken-of-a-test'), stdout)
    assert.ok(stdout.includes('GET /bot[redacted]/getMe: 404'), stdout)
  }
  const { lines } = await linesOf(home)
  assert.match(lines.at(-1) ?? '', /^ {4}→ .*platforms\.chat/, 'a problem always says what to do')
})

test('platforms are checked in parallel, and the check of one that does not respond is aborted', async (t) => {
  const home = homeWithPlatform(
    t,
    `if (account === 'default') {
       return await new Promise((resolve) => looks.push(() => resolve([{ state: 'ok', text: 'met' }])))
     }
     looks.shift()()
     await new Promise((resolve) => signal.addEventListener('abort', resolve))
     looks.push(account)
     return []`,
    '{token: one-of-two-tokens, accounts: {silent: {token: two-of-two-tokens}}}',
  )
  const findings = await diagnosePlatforms(await accountsOf(home), undefined, 50)
  assert.deepEqual(
    findings.map(({ state, text }) => [state, text.split(': ', 1)[0]]),
    [
      ['ok', 'chat'],
      ['problem', 'chat/silent'],
    ],
  )
  assert.ok(findings[1]?.text.includes('0.05 s'), 'the time limit')
  assert.ok(findings[1]?.advice, 'a problem always says what to do')
  const { looks } = await import(pathToFileURL(join(home.platforms, 'chat', 'adapter.js')).href)
  assert.deepEqual(looks, ['silent'], 'the signal was aborted')
})

test('an adapter receives the address of the running gateway', async (t) => {
  const home = homeWithPlatform(t, `return [{ state: 'ok', text: 'the gateway is at ' + gatewayUrl }]`)
  const [finding] = await diagnosePlatforms(await accountsOf(home), 'http://127.0.0.1:1234')
  assert.equal(finding?.text, 'chat: the gateway is at http://127.0.0.1:1234')
})

test('doctor exits with its code and its complete output although an adapter keeps sockets and timers open', async (t) => {
  const home = homeWithPlatform(
    t,
    `const { createServer } = await import('node:net')
     await new Promise((resolve) => createServer().listen(0, '127.0.0.1', resolve))
     setInterval(() => undefined, 1_000)
     return [{ state: 'problem', text: 'a long story ' + 'x'.repeat(300_000) }]`,
  )
  const ended = await withTimeout(startHermes(t, ['doctor', '--json'], { home: home.root }).exited, 20_000)
  assert.ok(ended.done, 'the process did not end')
  const { code, stdout, stderr } = ended.value
  assert.equal(code, 1, stderr)
  const { findings } = JSON.parse(stdout)
  assert.ok(findings.some(({ text }: { text: string }) => text.endsWith(`a long story ${'x'.repeat(300_000)}`)))
})

test('an account with an unset variable is a problem with its location, and the others are checked', async (t) => {
  const section = `{token: one-of-two-tokens, allow_from: ["*"], accounts: {family: {token: "\${FAMILY_TOKEN}"}}}`
  const home = homeWithPlatform(t, `return [{ state: 'ok', text: 'met ' + account }]`, section)
  const location = /config\.yaml:\d+:\d+/
  const { code, lines } = await linesOf(home)
  assert.equal(code, 1)
  assert.equal(lines[0], '✓ Platforms: chat: on')
  assert.match(lines[1] ?? '', /^✗ Platforms: chat\/family: .*FAMILY_TOKEN.*config\.yaml:\d+:\d+/)
  assert.deepEqual(lines.slice(3), ['✓ Platforms: chat: met default'])

  const check = await runInProcess(home.root, ['config', 'check'])
  assert.equal(check.code, 78)
  assert.match(check.stdout, location)
  assert.match(check.stdout, /platforms\.chat\.accounts\.family\.token: .*FAMILY_TOKEN/)

  const strict = await withTimeout(startHermes(t, ['gateway', 'run', '--strict'], { home: home.root }).exited, 20_000)
  assert.ok(strict.done && strict.value.code === 78)
  assert.match(strict.value.stderr, location)
})
