/**
 * An import writes nothing to the other home, replaces nothing here, gives no person more rights, and survives broken homes and kills.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { lockHome } from '../../../src/store/sqlite/lock.ts'
import { assertFailed, runInProcess } from '../support.ts'
import { hermesHomes } from './hermes-homes.ts'
import {
  contentOf,
  type Files,
  forbid,
  homesWith,
  modeOf,
  namesOf,
  readSetting,
  runImport,
  snapshot,
  writeFiles,
  writeStateDatabase,
} from './support.ts'

/** All homes of the list in one. */
const everything: Files = Object.assign({}, ...hermesHomes.map(({ files }) => files))

test('the home of the gateway itself, a folder around it and a folder without a home are refused', async (t) => {
  const { source, target } = homesWith(t, { 'config.yaml': 'model: a\n' })
  assertFailed(await runInProcess(source, ['import', 'hermes', source]), 'cli/usage', 'HERMES_HOME')
  const inner = join(source, 'profiles', 'inner')
  mkdirSync(inner, { recursive: true })
  assertFailed(await runInProcess(inner, ['import', 'hermes', source]), 'cli/usage')
  symlinkSync(source, join(target, 'link'))
  assertFailed(await runInProcess(source, ['import', 'hermes', join(target, 'link')]), 'cli/usage')
  assertFailed(await runInProcess(target, ['import', 'openclaw', source]), 'cli/not-found')
  assertFailed(await runInProcess(target, ['import', 'hermes', '/nowhere']), 'cli/not-found')
  assertFailed(await runInProcess(target, ['import', 'hermes']), 'cli/not-found')
  assertFailed(await runInProcess(target, ['import', 'goose', source]), 'cli/usage')
})

test('a home is found in its usual place, also that of a profile', async (t) => {
  const { source, target } = homesWith(t, {
    '.hermes/config.yaml': 'timezone: UTC\n',
    '.openclaw/openclaw.json': '{}',
    'state/openclaw.json': '{}',
  })
  const place = async (kind: string, environment: Record<string, string>) => {
    const { stdout } = await runInProcess(target, ['import', kind, '--dry-run', '--json'], { environment })
    return JSON.parse(stdout).source
  }
  assert.equal(await place('hermes', { HOME: source }), join(source, '.hermes'))
  assert.equal(await place('openclaw', { HOME: source }), join(source, '.openclaw'))
  assert.equal(
    await place('openclaw', { HOME: source, OPENCLAW_STATE_DIR: join(source, 'state') }),
    join(source, 'state'),
  )
})

test('the file of messages before each conversation brings no consents, people, keys or settings with it', async (t) => {
  const messages = '[{"role":"user","content":"hi"},{"role":"assistant","content":"hello"}]'
  const consents = '{"approvals":[{"event":"gateway:start","command":"/tmp/evil.sh"}]}'
  const unusable: Files = {
    'shell-hooks-allowlist.json': consents,
    'mcp-tokens/mail.json': '{"access_token":"k-20"}',
    '../other/first.json': messages,
    'missing.json': '',
  }
  for (const [path, content] of Object.entries(unusable)) {
    const homes = homesWith(t, {
      'config.yaml': `prefill_messages_file: ${path}\n`,
      ...(content === '' ? {} : { [path]: content }),
    })
    const report = await runImport(homes, 'hermes')
    assert.ok(namesOf(report, 'left').includes('prefill_messages_file'), path)
    assert.equal(existsSync(join(homes.target, basename(path))), false, path)
    assert.equal(existsSync(join(homes.target, 'mcp-tokens', basename(path))), false, path)
    assert.equal(readSetting(homes.target, 'prefill_messages_file'), undefined)
  }
  // Messages in the place of another file do not become that file.
  const path = 'platforms/pairing/telegram-pending.json'
  const homes = homesWith(t, { '.env': `HERMES_PREFILL_MESSAGES_FILE=${path}\n`, [path]: messages })
  await runImport(homes, 'hermes')
  assert.equal(existsSync(join(homes.target, path)), false)
  assert.equal(contentOf(homes.target, 'prefill.json'), messages)
  assert.match(contentOf(homes.target, '.env'), /^HERMES_PREFILL_MESSAGES_FILE=prefill.json$/m)
})

test('a home of OpenClaw gets no rights here: no programs outside of the sandbox, no system folder, no place of a process', async (t) => {
  const server = { command: 'sh', args: ['-c', 'id'], sandbox: 'off', approval: 'never', sampling: { enabled: true } }
  const homes = homesWith(t, {
    'openclaw.json': JSON.stringify({
      agents: { defaults: { workspace: '/usr' } },
      mcp: { servers: { evil: server } },
      tools: { deny: ['exec', 'process'] },
      env: {
        vars: { NODE_OPTIONS: '--x', HOME: '/x', LD_PRELOAD: '/x.so', HERMES_MAX_ITERATIONS: '9', MY_NAME: 'Ada' },
      },
    }),
  })
  const report = await runImport(homes, 'openclaw')
  assert.deepEqual(readSetting(homes.target, 'mcp_servers.evil'), { command: 'sh', args: ['-c', 'id'] })
  assert.equal(readSetting(homes.target, 'terminal.cwd'), undefined)
  assert.deepEqual(readSetting(homes.target, 'agent.disabled_toolsets'), ['terminal', 'code_execution'])
  assert.equal(contentOf(homes.target, '.env'), 'MY_NAME=Ada\n')
  for (const name of ['mcp.servers.evil.sandbox', 'agents.defaults.workspace', 'LD_PRELOAD'])
    assert.ok(namesOf(report, 'left').includes(name), `${name} is not reported: ${report.text}`)
})

test('a program of a home of Hermes runs here in the sandbox and with questions', async (t) => {
  const homes = homesWith(t, {
    'config.yaml': 'mcp_servers: {evil: {command: sh, sandbox: off, approval: never}}\n',
  })
  const report = await runImport(homes, 'hermes')
  assert.deepEqual(readSetting(homes.target, 'mcp_servers.evil'), { command: 'sh' })
  assert.ok(namesOf(report, 'left').includes('mcp_servers.evil.sandbox'))
})

test('nothing is imported while a gateway runs on the home', async (t) => {
  const { source, target } = homesWith(t, { 'SOUL.md': 'Hi.' })
  const lock = lockHome(join(target, 'gateway.lock'))
  try {
    assertFailed(await runInProcess(target, ['import', 'hermes', source]), 'home/locked')
  } finally {
    lock.release()
  }
  assert.equal(existsSync(join(target, 'SOUL.md')), false)
})

test('what is here stays unless it is overwritten, and what differs is reported', async (t) => {
  const homes = homesWith(t, {
    'config.yaml': 'model: {default: b, provider: anthropic}\ndisplay: {tool_progress: new, show_reasoning: true}\n',
    '.env': 'ANTHROPIC_API_KEY=k-2\nEXA_API_KEY=k-3\n',
    'SOUL.md': 'theirs',
    'skills/a/SKILL.md': '---\nname: a\ndescription: d\n---\ntheirs',
    'cron/jobs.json': '{"jobs":[{"id":"j1","prompt":"theirs"}]}',
    'pairing/telegram-approved.json': '{"1":{"user_name":"theirs"},"2":{"user_name":"new"}}',
  })
  const own = {
    'config.yaml': '# mine\nmodel: a # keep\nprovider: openai\ndisplay: {tool_progress: off}\n',
    '.env': '# keys\nANTHROPIC_API_KEY=k-1\n',
    'SOUL.md': 'mine',
    'skills/a/SKILL.md': '---\nname: a\ndescription: d\n---\nmine',
    'cron/jobs.json': '{"jobs":[{"id":"j1","prompt":"mine"}]}',
    'platforms/pairing/telegram-approved.json': '{"1":{"user_name":"mine"}}',
  }
  writeFiles(homes.target, own)
  const report = await runImport(homes, 'hermes')
  const conflicts = ['SOUL.md', 'skills/a', 'j1', 'display.tool_progress', 'model, provider', 'ANTHROPIC_API_KEY']
  assert.deepEqual(namesOf(report, 'conflict').sort(), conflicts.sort())
  for (const path of ['SOUL.md', 'skills/a/SKILL.md', 'cron/jobs.json'] as const)
    assert.equal(contentOf(homes.target, path), own[path], path)
  assert.equal(
    contentOf(homes.target, 'config.yaml'),
    '# mine\nmodel: a # keep\nprovider: openai\ndisplay: {tool_progress: off, show_reasoning: true}\n',
  )
  assert.equal(contentOf(homes.target, '.env'), '# keys\nANTHROPIC_API_KEY=k-1\nEXA_API_KEY=k-3\n')
  const people = JSON.parse(contentOf(homes.target, 'platforms/pairing/telegram-approved.json'))
  assert.deepEqual(people, { '1': { user_name: 'mine' }, '2': { user_name: 'new' } })
  assert.equal(/k-\d/.test(report.text), false)

  const forced = await runImport(homes, 'hermes', '--overwrite')
  assert.deepEqual(namesOf(forced, 'conflict'), [])
  assert.equal(contentOf(homes.target, 'SOUL.md'), 'theirs')
  assert.match(contentOf(homes.target, 'skills/a/SKILL.md'), /theirs$/)
  assert.match(contentOf(homes.target, '.env'), /# keys\n.*ANTHROPIC_API_KEY=k-2/s)
  assert.deepEqual([readSetting(homes.target, 'model'), readSetting(homes.target, 'provider')], ['b', 'anthropic'])
})

test('the people of one bot get no access to another bot', async (t) => {
  const homes = homesWith(t, {
    'config.yaml': 'telegram: {allow_from: ["666"], free_response_chats: ["-5"]}\n',
    '.env': 'TELEGRAM_BOT_TOKEN=2:b\nTELEGRAM_ALLOW_ALL_USERS=true\nGATEWAY_ALLOW_ALL_USERS=true\n',
  })
  writeFiles(homes.target, {
    'config.yaml': 'gateway: {allowed_users: ["1"]}\n',
    '.env': 'TELEGRAM_BOT_TOKEN=1:a\nTELEGRAM_ALLOWED_USERS=1\n',
  })
  const before = ['config.yaml', '.env'].map((path) => contentOf(homes.target, path))
  const report = await runImport(homes, 'hermes')
  assert.equal(namesOf(report, 'conflict').length, 2)
  assert.deepEqual(
    ['config.yaml', '.env'].map((path) => contentOf(homes.target, path)),
    before,
  )
})

test('the key of one server is not sent to another one', async (t) => {
  const homes = homesWith(t, { 'config.yaml': 'model: {default: b, api_key: k-1}\nproviders: {box: {api_key: k-2}}\n' })
  const own =
    'model: a\nbase_url: https://mine.example.org/v1\nproviders: {box: {base_url: "https://box.example.org"}}\n'
  writeFiles(homes.target, { 'config.yaml': own })
  await runImport(homes, 'hermes')
  assert.equal(contentOf(homes.target, 'config.yaml'), own)
})

test('links out of the home, huge files, other bytes than UTF-8 and forbidden files are left, and the rest is taken', async (t) => {
  const homes = homesWith(t, {
    'memories/MEMORY.md': new Uint8Array([0xff, 0xfe, 0x00]),
    'memories/USER.md': 'fine',
    'BOOT.md': new Uint8Array(5 * 1024 * 1024).fill(0x61),
    'skills/good/SKILL.md': '---\nname: good\ndescription: d\n---\n',
    'skills/forbidden/SKILL.md': 'x',
    'auth.json': '{"credential_pool":',
    'cron/jobs.json': '[]x',
    'pairing/telegram-approved.json': '[1]',
    'config.yaml': 'model: a\n  b: c\n',
    '.env': 'GOOD=1\nno assignment\nBAD="open\n',
  })
  const outside = join(homes.source, '..', 'outside')
  writeFiles(outside, { 'SOUL.md': 'secret of another user', 'skill/SKILL.md': '---\nname: s\ndescription: d\n---\n' })
  symlinkSync(join(outside, 'SOUL.md'), join(homes.source, 'SOUL.md'))
  symlinkSync(join(outside, 'skill'), join(homes.source, 'skills/linked'))
  symlinkSync('/etc/passwd', join(homes.source, 'skills/good/passwd'))
  symlinkSync(outside, join(homes.source, 'hooks'))
  symlinkSync('/nowhere', join(homes.source, 'plugins'))
  mkdirSync(join(homes.source, 'state.db'))
  forbid(join(homes.source, 'skills/forbidden/SKILL.md'))
  const report = await runImport(homes, 'hermes')
  const isRoot = process.getuid?.() === 0
  assert.equal(report.code, 1)
  for (const name of [
    'config.yaml',
    'memories/MEMORY.md',
    'BOOT.md',
    'SOUL.md',
    'auth.json',
    'cron/jobs.json',
    'pairing/telegram-approved.json',
    '.env line 2',
    '.env line 3',
    'state.db',
    ...(isRoot ? [] : ['skills/forbidden']),
  ])
    assert.ok(namesOf(report, 'failed').includes(name), `${name}: ${report.text}`)
  for (const name of ['skills/linked', 'hooks', 'plugins'])
    assert.ok(namesOf(report, 'left').includes(name), `${name}: ${report.text}`)
  for (const name of ['memories/USER.md', 'GOOD']) assert.ok(namesOf(report, 'taken').includes(name), name)
  assert.ok(namesOf(report, 'changed').includes('skills/good'))
  assert.deepEqual(readdirSync(join(homes.target, 'skills/good')), ['SKILL.md'])
  assert.equal(existsSync(join(homes.target, 'SOUL.md')), false)
})

test('a file that everybody could read or write is private here', async (t) => {
  const homes = homesWith(t, {
    '.env': 'OPENAI_API_KEY=k-1\n',
    'config.yaml': 'api_key: k-2\n',
    'skills/a/SKILL.md': 'x',
    'skills/a/run.sh': 'x',
    'SOUL.md': 'x',
  })
  writeFileSync(join(homes.target, '.env'), 'A=1\n', { mode: 0o666 })
  await runImport(homes, 'hermes')
  for (const path of ['.env', 'config.yaml', 'SOUL.md', 'skills/a/SKILL.md'])
    assert.equal(modeOf(join(homes.target, path)), 0o600, path)
})

test('a second run completes what a kill has interrupted', async (t) => {
  const homes = homesWith(t, everything)
  writeStateDatabase(join(homes.source, 'state.db'), 'old', [
    { id: 's1', source: 'cli', messages: [{ role: 'user', content: 'x' }] },
  ]).close()
  const whole = await runImport(homes, 'hermes')
  const complete = snapshotOf(homes.target)
  const steps = [
    '.env',
    'config.yaml',
    'skills/flat',
    'plugins/notes',
    'auth.json',
    'platforms/pairing/telegram-approved.json',
    'state.db',
    'cron/jobs.json',
  ]
  for (const step of steps) {
    // What a kill before this step leaves, with the remains of an unfinished copy.
    rmSync(join(homes.target, step), { recursive: true })
    for (const suffix of ['-wal', '-shm'])
      if (step === 'state.db') rmSync(join(homes.target, `${step}${suffix}`), { force: true })
    writeFiles(homes.target, {
      'cache/import/skills_flat.new/SKILL.md': 'half',
      'cache/import/database/copy.db': 'half',
    })
    const report = await runImport(homes, 'hermes')
    assert.deepEqual(namesOf(report, 'conflict'), [], step)
    assert.deepEqual(snapshotOf(homes.target), complete, step)
  }
  assert.deepEqual(namesOf(await runImport(homes, 'hermes'), 'taken', 'changed'), [])
  assert.ok(namesOf(whole, 'taken').length > 20)
})

test('a folder that a kill has moved aside comes back', async (t) => {
  const homes = homesWith(t, { 'skills/a/SKILL.md': 'theirs' })
  writeFiles(homes.target, { 'cache/import/skills_a.old/SKILL.md': 'mine' })
  const report = await runImport(homes, 'hermes')
  assert.deepEqual([namesOf(report, 'conflict'), contentOf(homes.target, 'skills/a/SKILL.md')], [['skills/a'], 'mine'])
})

/** What a user sees of the home. The order of variables and the times of a file may differ. */
function snapshotOf(target: string): readonly string[] {
  const paths = readdirSync(target, { recursive: true, encoding: 'utf8' }).filter(
    (path) => !/^(?:cache|state\.db-|gateway\.lock|.*\.lock)/.test(path),
  )
  return paths.sort().map((path) => {
    const isText = /\.(?:md|yaml|json|py|sh|env)$|^\.env$/.test(path)
    if (!isText) return path
    const lines = contentOf(target, path)
      .split('\n')
      .filter((line) => !line.includes('updated_at'))
    return `${path}\n${path === '.env' || path === 'config.yaml' ? lines.sort().join('\n') : lines.join('\n')}`
  })
}

test('the report of people names every heading and ends with what to do', async (t) => {
  const homes = homesWith(t, {
    ...everything,
    'memories/USER.md': new Uint8Array([0xff]),
    '.env': 'MESSAGING_CWD=/srv\n',
  })
  const before = snapshot(homes.target)
  const { stdout, code } = await runInProcess(homes.target, ['import', 'hermes', homes.source, '--dry-run'])
  assert.deepEqual([code, snapshot(homes.target)], [1, before])
  for (const text of [
    'Would be taken\n',
    'Would be taken in another form\n',
    'Cannot be taken\n',
    'Would be left\n',
    '--dry-run',
  ])
    assert.ok(stdout.includes(text), text)
  assert.equal(/\bk-\d+\b/.test(stdout), false)
})
