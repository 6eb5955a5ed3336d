import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { selectProfile, takeProfileOption } from '../../src/cli/kit/profile-selection.ts'
import { runCommand } from '../../src/cli/main.ts'
import { readEnvironment } from '../../src/config/environment.ts'
import { isHermesError } from '../../src/lib/errors.ts'
import { createHomeLayout } from '../../src/lib/home.ts'
import { lockHome } from '../../src/store/sqlite/lock.ts'
import { writeMigratedDatabase } from '../kit/migrated-database.ts'
import { tempHome } from '../kit/temp-home.ts'
import { createTestContext, hermes } from './support.ts'

/** Runs a command as the command line does, with the profile that its words and the environment select. */
async function run(root: string, line: string | readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const variables = { HOME: root, HERMES_HOME: root, ...environment }
  const words = typeof line === 'string' ? line.split(' ') : [...line]
  const context = createTestContext(root, { environment: variables })
  try {
    const { home, rootHome, profile } = selectProfile(takeProfileOption(words), variables)
    const selected = { ...context, home: createHomeLayout(home), rootHome, profile }
    const code = await runCommand(words, selected)
    return { code, stdout: String(context.output.read() ?? ''), stderr: String(context.errors.read() ?? '') }
  } catch (error) {
    if (!isHermesError(error)) throw error
    return { code: error.code, stdout: '', stderr: error.message }
  }
}

async function profileNames(root: string, line = 'profile list --json'): Promise<string[]> {
  const listed: { name: string }[] = JSON.parse((await run(root, line)).stdout)
  return listed.map(({ name }) => name)
}

const secretConfig = `# my settings
model: gpt-5
api_key: sk-model-0123456789
http: {port: 8642, token: http-token-0123456789}
platforms:
  telegram:
    token: "\${TELEGRAM_TOKEN}" # the bot
    allow_from: [42]
  slack:
    accounts:
      work: {bot_token: xoxb-0123456789, app_token: xapp-0123456789, allow_from: ['U1']}
`
const secretEnv = `# keys
OPENAI_API_KEY=sk-openai-0123456789
DISCORD_BOT_TOKEN="first line
second line"
TELEGRAM_TOKEN=123:telegram
HERMES_HTTP_PORT=9000
DISCORD_ALLOWED_USERS=7
`

function homeWithSecrets(t: TestContext): string {
  const root = tempHome(t)
  writeFileSync(join(root, 'config.yaml'), secretConfig, { mode: 0o600 })
  writeFileSync(join(root, '.env'), secretEnv, { mode: 0o600 })
  writeFileSync(join(root, 'SOUL.md'), 'You are kind.\n')
  writeMigratedDatabase(join(root, 'state.db'))
  return root
}

test('a new profile has a home of its own, and every profile sees all of them', async (t) => {
  const root = tempHome(t)
  assert.equal((await run(root, 'profile create coder')).code, 0)
  assert.equal((await run(root, 'profile create main')).code, 0)
  assert.deepEqual(await profileNames(root), ['default', 'coder', 'main'])
  assert.deepEqual(await profileNames(root, '-p coder profile list --json'), ['default', 'coder', 'main'])
  assert.equal(
    (await run(root, '--profile coder config path')).stdout.trim(),
    join(root, 'profiles', 'coder', 'config.yaml'),
  )
  assert.equal((await run(root, '--profile=coder config path')).stdout, (await run(root, '-pcoder config path')).stdout)
  assert.equal(statSync(join(root, 'profiles', 'coder')).mode & 0o777, 0o700)
})

test('a name may be typed with capital letters and blanks', async (t) => {
  const root = tempHome(t)
  for (const words of [
    ['create', ' Coder '],
    ['use', 'CODER'],
    ['show', 'Coder'],
  ])
    assert.equal(await runCommand(['profile', ...words], createTestContext(root)), 0, words.join(' '))
  assert.deepEqual(await profileNames(root), ['default', 'coder'])
  const environment = { HERMES_HOME: root }
  assert.equal(selectProfile(takeProfileOption(['-p', 'Coder', 'status']), environment).profile, 'coder')
  assert.equal(
    selectProfile({ words: [], profile: undefined }, { ...environment, HERMES_PROFILE: 'Coder ' }).profile,
    'coder',
  )
})

test('a new profile has an .env that only names the variables of keys and tokens', async (t) => {
  const root = tempHome(t)
  await run(root, 'profile create coder')
  const file = join(root, 'profiles', 'coder', '.env')
  const text = readFileSync(file, 'utf8')
  assert.match(text, /^#OPENAI_API_KEY=$[\s\S]*^#TELEGRAM_BOT_TOKEN=$/m)
  assert.deepEqual(readEnvironment(file, {}).values, {})
  assert.deepEqual(readEnvironment(file, {}).issues, [])
  assert.equal(statSync(file).mode & 0o777, 0o600)
})

test('profiles have different ports', async (t) => {
  const root = tempHome(t)
  for (const name of ['one', 'two']) await run(root, `profile create ${name}`)
  const ports = await Promise.all(
    ['default', 'one', 'two'].map(async (name) => {
      const shown: { url: string } = JSON.parse((await run(root, `profile show ${name} --json`)).stdout)
      return new URL(shown.url).port
    }),
  )
  assert.equal(new Set(ports).size, 3)
})

test('a clone has the settings, the keys and the persona, but no token of a platform and no conversation', async (t) => {
  const root = homeWithSecrets(t)
  const { code, stdout } = await run(root, 'profile create twin --clone')
  assert.equal(code, 0)
  const twin = createHomeLayout(join(root, 'profiles', 'twin'))
  const config = readFileSync(twin.configFile, 'utf8')
  const env = readFileSync(twin.envFile, 'utf8')
  for (const text of ['# my settings', 'model: gpt-5', 'sk-model', 'allow_from: [ 42 ]', 'U1'])
    assert.ok(config.includes(text) || config.includes(text.replaceAll(/(?<=\[) | (?=\])/g, '')), `${text}\n${config}`)
  assert.doesNotMatch(config, /TELEGRAM_TOKEN|xoxb|xapp|http-token|8642/)
  assert.equal(env, '# keys\nOPENAI_API_KEY=sk-openai-0123456789\nDISCORD_ALLOWED_USERS=7\n')
  assert.equal(readFileSync(twin.soulFile, 'utf8'), 'You are kind.\n')
  for (const file of [twin.configFile, twin.envFile, twin.soulFile])
    assert.equal(statSync(file).mode & 0o777, 0o600, file)
  assert.equal(existsSync(twin.databaseFile), false)
  for (const left of ['platforms.telegram.token', 'platforms.slack.accounts.work.app_token', 'DISCORD_BOT_TOKEN'])
    assert.ok(stdout.includes(left), stdout)
})

test('the profile in use applies to every command until another one is named', async (t) => {
  const root = tempHome(t)
  await run(root, 'profile create coder')
  await run(root, 'profile create other')
  await run(root, 'profile use coder')
  const homeOf = async (line: string, environment = {}) =>
    (await run(root, line, environment)).stdout.trim().replace('/config.yaml', '')
  assert.equal(await homeOf('config path'), join(root, 'profiles', 'coder'))
  assert.equal(await homeOf('-p default config path'), root)
  assert.equal(await homeOf('config path', { HERMES_PROFILE: 'other' }), join(root, 'profiles', 'other'))
  const other = { HERMES_HOME: join(root, 'profiles', 'other') }
  assert.equal(await homeOf('config path', other), join(root, 'profiles', 'other'))
  assert.deepEqual(JSON.parse((await run(root, 'profile list --json', other)).stdout).length, 3)
  await run(root, 'profile use default')
  assert.equal(await homeOf('config path'), root)
})

test('a name that could leave the folder of the profiles is refused', async (t) => {
  const root = tempHome(t)
  const names = ['..', '.', 'a/b', '../x', 'a\\b', '-x', 'a'.repeat(65), 'all', 'ä', 'x y', ' ']
  for (const name of names) {
    const context = createTestContext(root)
    const code = await runCommand(['profile', 'create', '--', name], context)
    assert.equal(code, 2, name)
    for (const option of [['-p', name], [`--profile=${name}`]]) {
      assert.throws(
        () => selectProfile(takeProfileOption([...option, 'status']), { HERMES_HOME: root }),
        (error) => isHermesError(error, 'cli/usage'),
        name,
      )
    }
  }
  assert.deepEqual(await profileNames(root), ['default'])
})

test('a profile that does not exist is an error that names the ways out', async (t) => {
  const root = tempHome(t)
  assert.equal((await run(root, '-p absent status')).code, 'cli/not-found')
  await run(root, 'profile create gone')
  await run(root, 'profile use gone')
  await run(root, 'profile delete gone --yes')
  assert.equal((await run(root, 'config path')).stdout.trim(), join(root, 'config.yaml'))
  writeFileSync(join(root, 'active_profile'), 'gone\n')
  assert.equal((await run(root, 'config path')).code, 'cli/not-found')
  assert.equal((await run(root, 'profile use default')).code, 0)
  for (const line of ['profile create default', 'profile delete default --yes', 'profile rename default x'])
    assert.equal((await run(root, line)).code, 2, line)
})

test('a profile whose gateway runs is neither renamed nor deleted, and a deletion asks first', async (t) => {
  const root = tempHome(t)
  await run(root, 'profile create coder')
  const home = createHomeLayout(join(root, 'profiles', 'coder'))
  assert.equal((await run(root, 'profile delete coder')).code, 2)
  const lock = lockHome(home.lockFile)
  for (const line of ['profile rename coder writer', 'profile delete coder --yes']) {
    const { code, stderr } = await run(root, line)
    assert.equal(code, 78, line)
    assert.match(stderr, /home\/locked/)
  }
  lock.release()
  await run(root, 'profile use coder')
  assert.equal((await run(root, 'profile rename coder writer')).code, 0)
  assert.deepEqual(await profileNames(root), ['default', 'writer'])
  const shown = JSON.parse((await run(root, 'profile show --json')).stdout)
  assert.deepEqual([shown.name, shown.default, shown.session_namespace], ['writer', true, 'coder'])
  assert.equal((await run(root, 'profile delete writer --yes')).code, 0)
  assert.deepEqual(await profileNames(root), ['default'])
})

test('a person who was approved in one profile has no access in its clone', async (t) => {
  const root = tempHome(t)
  const lists =
    "platforms:\n  telegram:\n    allow_from: ['111', '222']\n    accounts: {two: {allow_from: ['222', '7']}}\n"
  writeFileSync(join(root, 'config.yaml'), lists)
  writeFileSync(join(root, '.env'), 'GATEWAY_ALLOWED_USERS=222,8\nDISCORD_ALLOWED_USERS=9,333\n')
  const pairing = join(root, 'platforms', 'pairing')
  mkdirSync(pairing, { recursive: true })
  const approved = (name: string, ids: readonly string[]) =>
    writeFileSync(
      join(pairing, `${name}-approved.json`),
      JSON.stringify(Object.fromEntries(ids.map((id) => [id, { user_name: 'x', approved_at: 1 }]))),
    )
  approved('telegram', ['222'])
  approved('discord', ['333'])
  const { stdout } = await run(root, 'profile create twin --clone')
  const twin = createHomeLayout(join(root, 'profiles', 'twin'))
  const copied = readFileSync(twin.configFile, 'utf8') + readFileSync(twin.envFile, 'utf8')
  assert.doesNotMatch(copied, /222|333/)
  for (const kept of ['111', '7', '=8', '=9']) assert.ok(copied.includes(kept), copied)
  assert.match(stdout, /222 \(telegram\)/)
  writeFileSync(join(pairing, 'slack-approved.json.damaged-1'), '{')
  assert.notEqual((await run(root, 'profile create other --clone')).code, 0)
  assert.deepEqual(await profileNames(root), ['default', 'twin'])
})

test('a link is no home of a profile', async (t) => {
  const root = tempHome(t)
  const elsewhere = tempHome(t)
  mkdirSync(join(root, 'profiles'))
  symlinkSync(elsewhere, join(root, 'profiles', 'evil'))
  assert.deepEqual(await profileNames(root), ['default'])
  for (const line of ['-p evil config path', 'profile show evil', 'profile delete evil --yes', 'profile create evil'])
    assert.notEqual((await run(root, line)).code, 0, line)
  assert.deepEqual(readdirSync(elsewhere), [])
})

test('an exported profile has no secret unless it is asked for', async (t) => {
  const root = homeWithSecrets(t)
  const skill = join(root, 'skills', `${'deep-'.repeat(20)}folder`)
  mkdirSync(skill, { recursive: true })
  writeFileSync(join(skill, 'SKILL.md'), 'how to\n')
  writeFileSync(join(root, 'skills', '.env'), 'KEY=secret-in-a-skill\n')
  symlinkSync('/etc/passwd', join(root, 'skills', 'link'))
  const archive = join(root, 'plain.tar.gz')
  const { code, stdout } = await run(root, ['profile', 'export', 'default', archive])
  assert.equal(code, 0)
  assert.match(stdout, /api_key.*\n.*skills\/link/s)
  assert.equal(statSync(archive).mode & 0o777, 0o600)
  const names = execFileSync('tar', ['-tzf', archive], { encoding: 'utf8' })
  assert.doesNotMatch(names, /\.env|state\.db|link/)
  assert.ok(names.includes(`default/skills/${'deep-'.repeat(20)}folder/SKILL.md`), names)
  const text = execFileSync('tar', ['-xzOf', archive], { encoding: 'utf8' })
  assert.match(text, /gpt-5.*\$\{TELEGRAM_TOKEN\}.*how to/s)
  assert.doesNotMatch(text, /sk-|xoxb|xapp|http-token|secret-in-a-skill/)
  assert.equal((await run(root, ['profile', 'export', 'default', archive])).code, 2)
  const full = join(root, 'full.tar.gz')
  assert.equal((await run(root, ['profile', 'export', 'default', full, '--with-secrets'])).code, 0)
  const all = execFileSync('tar', ['-tzf', full], { encoding: 'utf8' })
  for (const name of ['default/.env', 'default/state.db', 'default/config.yaml']) assert.ok(all.includes(name), all)
})

test('an exported profile has nothing of the people of the profile', async (t) => {
  const root = homeWithSecrets(t)
  const config = `# old token: 999:in-a-comment
platforms: {telegram: {allow_from: [42, 222]}, discord: {allow_from: "7, 222"}}
quick_commands:
  deploy: {type: exec, command: 'curl -H sk-openai-0123456789 x'} # secret-comment
  date: {type: exec, command: date}
`
  writeFileSync(join(root, 'config.yaml'), config)
  for (const path of [
    'memories/USER.md',
    'cron/output/misc/x.md',
    'platforms/pairing/telegram-pending.json',
    'pairing/x.json',
  ]) {
    mkdirSync(join(root, path, '..'), { recursive: true })
    writeFileSync(join(root, path), '{}')
  }
  writeFileSync(join(root, 'cron', 'jobs.json'), '{}')
  const approved = JSON.stringify({ 222: { user_name: 'Ada', approved_at: 1 } })
  writeFileSync(join(root, 'platforms', 'pairing', 'telegram-approved.json'), approved)
  const archive = join(root, 'plain.tar.gz')
  const { stdout } = await run(root, ['profile', 'export', 'default', archive])
  const names = execFileSync('tar', ['-tzf', archive], { encoding: 'utf8' })
  assert.doesNotMatch(names, /memories|output|pairing/)
  assert.ok(names.includes('default/cron/jobs.json'), names)
  const text = execFileSync('tar', ['-xzOf', archive, 'default/config.yaml'], { encoding: 'utf8' })
  assert.doesNotMatch(text, /comment|deploy|sk-|\[ ?42, 222/)
  assert.match(text, /42.*7, 222.*command: date/s)
  assert.match(stdout, /contains config\.yaml.*\n.*quick_commands\.deploy/)
  const full = join(root, 'full.tar.gz')
  await run(root, ['profile', 'export', 'default', full, '--with-secrets'])
  const all = execFileSync('tar', ['-tzf', full], { encoding: 'utf8' })
  for (const name of [
    'memories/USER.md',
    'cron/output/misc/x.md',
    'platforms/pairing/telegram-approved.json',
    'default/pairing/x.json',
  ])
    assert.ok(all.includes(name), all)
})

test('the program itself understands the option of the profile, and status names the profile', async (t) => {
  const root = tempHome(t)
  await run(root, 'profile create coder')
  const found = await hermes(t, ['-p', 'coder', 'status'], { home: root })
  assert.equal(found.code, 3)
  assert.match(found.stdout, /Profile +coder\n/)
  assert.equal(JSON.parse((await run(root, '-pcoder status --json')).stdout).profile, 'coder')
  assert.equal(JSON.parse((await run(root, 'status --json')).stdout).profile, 'default')
})

test('a word after the command is no profile, also when it begins like the option', async (t) => {
  const root = tempHome(t)
  for (const words of [
    ['chat', '-q', '-pretty'],
    ['send', 'x', '--', '-p', 'absent'],
    ['--', '-p', 'absent'],
  ]) {
    const option = takeProfileOption(words)
    assert.deepEqual(option, { words, profile: undefined })
    assert.equal(selectProfile(option, { HERMES_HOME: root }).profile, 'default')
  }
  assert.equal((await run(root, 'send nowhere:1 -- -p')).code, 3)
  // Without a message that it could be part of, it is a mistake and not silently left out.
  const misplaced = await run(root, 'status -p absent')
  assert.deepEqual([misplaced.code, misplaced.stdout], [2, ''])
})

test('what the program starts runs in the same profile, also after another one was named in the environment', async (t) => {
  const root = tempHome(t)
  for (const name of ['coder', 'other']) await run(root, `profile create ${name}`)
  const hook = join(root, 'profiles', 'coder', 'hooks', 'environment')
  mkdirSync(hook, { recursive: true, mode: 0o700 })
  writeFileSync(join(hook, 'HOOK.yaml'), 'events: [gateway:startup]\n')
  const code =
    "export const handle = () => { const { env } = process; throw new Error('home=' + env.HERMES_HOME + ';profile=' + env.HERMES_PROFILE + ';') }\n"
  writeFileSync(join(hook, 'handler.mjs'), code)
  const { stdout } = await hermes(t, ['-p', 'coder', 'hooks', 'test', 'environment'], {
    home: root,
    environment: { HERMES_PROFILE: 'other' },
  })
  assert.ok(stdout.includes(`home=${join(root, 'profiles', 'coder')};profile=undefined;`), stdout)
})
