/**
 * Conversations of Hermes are searched, shown and continued after an import.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { importHome } from '../../../src/cli/import/import-home.ts'
import { startTestGateway } from '../../kit/start-gateway.ts'
import { tempHome } from '../../kit/temp-home.ts'
import { createTestContext, runInProcess } from '../support.ts'
import { homesWith, namesOf, runImport, type StoredSession, snapshot, writeStateDatabase } from './support.ts'

const call = '[{"id":"c1","type":"function","function":{"name":"terminal","arguments":"{\\"command\\":\\"ls\\"}"}}]'

const sessions: readonly StoredSession[] = [
  {
    id: '20260401_120000_aaaaaaaa',
    source: 'cli',
    columns: { title: 'Gardening', ended_at: 1_760_000_100, end_reason: 'user_exit' },
    messages: [
      { role: 'system', content: 'You are Hermes.' },
      { role: 'user', content: 'Which tulips bloom in March?' },
      { role: 'assistant', content: '', tool_calls: call },
      { role: 'tool', content: 'early-tulips.txt', tool_call_id: 'c1', tool_name: 'terminal' },
      { role: 'assistant', content: 'The early ones.' },
    ],
  },
  {
    id: 'child',
    source: 'tool',
    columns: { parent_session_id: '20260401_120000_aaaaaaaa' },
    messages: [{ role: 'user', content: 'inner' }],
  },
  { id: 'empty', source: 'cli', messages: [] },
]

async function shown(
  target: string,
  id: string,
): Promise<{ session: Record<string, unknown>; messages: Record<string, unknown>[] }> {
  const { stdout, stderr } = await runInProcess(target, ['sessions', 'show', id, '--json'])
  assert.notEqual(stdout, '', stderr)
  return JSON.parse(stdout)
}

test('conversations of the first versions are found by their words and keep roles, tools and times', async (t) => {
  const homes = homesWith(t, {})
  writeStateDatabase(join(homes.source, 'state.db'), 'old', sessions).close()
  const before = snapshot(homes.source)
  const report = await runImport(homes, 'hermes')
  assert.deepEqual(namesOf(report, 'taken'), ['1'])
  assert.deepEqual(snapshot(homes.source), before)

  const found = await runInProcess(homes.target, ['sessions', 'search', 'tulips', '--json'])
  assert.ok(found.stdout.includes('20260401_120000_aaaaaaaa'), found.stdout)
  const { messages } = await shown(homes.target, '20260401_120000_aaaaaaaa')
  assert.deepEqual(
    messages.map(({ role, content }) => [role, content]),
    [
      ['user', 'Which tulips bloom in March?'],
      ['assistant', ''],
      ['tool', 'early-tulips.txt'],
      ['assistant', 'The early ones.'],
    ],
  )
  const again = await runImport(homes, 'hermes')
  assert.deepEqual([namesOf(again, 'taken'), namesOf(again, 'same')], [[], ['1']])
})

test('a home in use is read with what is not in its database file yet, and is neither written nor locked', async (t) => {
  const homes = homesWith(t, {})
  const db = writeStateDatabase(join(homes.source, 'state.db'), 'new', sessions)
  t.after(() => db.close())
  db.exec('begin immediate')
  db.prepare('insert into messages (session_id, role, content, timestamp) values (?, ?, ?, ?)').run(
    'empty',
    'user',
    'not committed',
    1,
  )
  const before = readdirSync(homes.source)
  const report = await runImport(homes, 'hermes')
  assert.deepEqual([namesOf(report, 'taken'), namesOf(report, 'failed')], [['1'], []])
  db.exec('commit')
  assert.deepEqual(readdirSync(homes.source), before)
  assert.deepEqual(namesOf(await runImport(homes, 'hermes'), 'taken'), ['1'])
})

test('messages that were taken back, replaced by a summary or not text keep their meaning', async (t) => {
  const homes = homesWith(t, {})
  const id = '20260401_120000_bbbbbbbb'
  const messages = [
    { role: 'user', content: 'first', active: 0, compacted: 1 },
    { role: 'assistant', content: 'second', active: 0, compacted: 1 },
    { role: 'user', content: 'a summary', _compressed_summary: 1 },
    { role: 'user', content: 'taken back', active: 0 },
    { role: 'user', content: 'hidden', display_kind: 'hidden' },
    {
      role: 'user',
      content: '\0json:[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:x"}}]',
    },
    { role: 'assistant', content: 'x'.repeat(100_000) },
  ]
  writeStateDatabase(join(homes.source, 'state.db'), 'new', [{ id, source: 'telegram', messages }]).close()
  await runImport(homes, 'hermes')
  const found = await shown(homes.target, id)
  assert.deepEqual(
    found.messages.map(({ content, superseded, is_summary }) => [String(content).slice(0, 20), superseded, is_summary]),
    [
      ['first', 1, 0],
      ['second', 1, 0],
      ['a summary', 0, 1],
      ['look\n[image_url]', 0, 0],
      ['x'.repeat(20), 0, 0],
    ],
  )
})

test('a damaged database is reported, and everything else is imported', async (t) => {
  const homes = homesWith(t, {
    'SOUL.md': 'Hi.',
    'state.db': 'this is no database, but long enough to look at it'.repeat(20),
  })
  const report = await runImport(homes, 'hermes')
  assert.deepEqual([report.code, namesOf(report, 'failed'), namesOf(report, 'taken')], [1, ['state.db'], ['SOUL.md']])
  const other = homesWith(t, { 'SOUL.md': 'Hi.' })
  const db = writeStateDatabase(join(other.source, 'state.db'), 'old', [])
  db.exec('drop table messages')
  db.close()
  assert.deepEqual(namesOf(await runImport(other, 'hermes'), 'failed'), ['state.db'])
})

test('an open conversation goes on in the gateway where it was in Hermes', async (t) => {
  const source = tempHome(t)
  const key = 'agent:main:fake:dm:ada'
  const origin = { platform: 'fake', chat_id: 'ada', chat_type: 'dm', user_id: 'ada', user_name: 'Ada' }
  writeStateDatabase(join(source, 'state.db'), 'old', [
    {
      id: '20260401_120000_cccccccc',
      source: 'fake',
      columns: { user_id: 'ada' },
      messages: [
        { role: 'user', content: 'My cat is called Turing.' },
        { role: 'assistant', content: 'A fine name.' },
      ],
    },
  ]).close()
  mkdirSync(join(source, 'sessions'))
  writeFileSync(
    join(source, 'sessions/sessions.json'),
    JSON.stringify({ [key]: { session_id: '20260401_120000_cccccccc', origin } }),
  )
  writeFileSync(join(source, 'SOUL.md'), 'You are the soul of Hermes.')
  const gateway = await startTestGateway(t, { startNow: false })
  const report = await importHome(createTestContext(gateway.home.root), 'hermes', source, {
    dryRun: false,
    overwrite: false,
  })
  assert.deepEqual(
    report.entries.filter(({ result }) => result === 'failed'),
    [],
  )
  await gateway.start()
  await gateway.current().initialConnectsDone()
  await gateway.say('What is my cat called?', { chat: 'ada', user: 'ada' })
  const { body } = await gateway.modelRequest(0)
  const text = JSON.stringify(body)
  for (const part of ['My cat is called Turing.', 'A fine name.', 'the soul of Hermes'])
    assert.ok(text.includes(part), text)
})

test('the work of a sub-agent is no conversation of the person for whose chat it was done', async (t) => {
  const homes = homesWith(t, {})
  const chat = { session_key: 'agent:main:telegram:dm:42', chat_id: '42', chat_type: 'dm', user_id: '42' }
  const stored: readonly StoredSession[] = [
    {
      id: 'of-the-person',
      source: 'telegram',
      columns: { ...chat, model_config: '{"temperature":1}' },
      messages: [{ role: 'user', content: 'Which tulips?' }],
    },
    {
      id: 'of-the-sub-agent',
      source: 'telegram',
      columns: { ...chat, parent_session_id: 'of-the-person', model_config: '{"_delegate_from":"of-the-person"}' },
      messages: [{ role: 'user', content: 'Look for tulips.' }],
    },
  ]
  writeStateDatabase(join(homes.source, 'state.db'), 'new', stored).close()
  assert.deepEqual(namesOf(await runImport(homes, 'hermes'), 'taken'), ['1'])
  const listed = await runInProcess(homes.target, ['sessions', 'list', '--json'])
  assert.match(listed.stdout, /of-the-person/)
  assert.doesNotMatch(listed.stdout, /of-the-sub-agent/)
})

test('a gateway starts with the settings of another home and answers its people', async (t) => {
  const source = tempHome(t)
  const gateway = await startTestGateway(t, { startNow: false, configText: '' })
  const { url, token } = gateway.platform
  const config = {
    model: { default: 'test-model', provider: 'custom:lab' },
    custom_providers: [{ name: 'Lab', base_url: gateway.model.baseUrl, api_key: 'test-key' }],
    agent: { max_turns: 12, personalities: { calm: 'Breathe first.' } },
    display: { personality: 'calm', tool_progress: 'off', skin: 'mono' },
    gateway: { platforms: { fake: { enabled: true, url, token: `\${FAKE_TOKEN}`, extra: { allow_from: ['ada'] } } } },
    kanban: { enabled: true },
  }
  writeFileSync(join(source, 'config.yaml'), JSON.stringify(config))
  writeFileSync(join(source, '.env'), `FAKE_TOKEN=${token}\nHERMES_HTTP_PORT=0\nTERMINAL_CWD=${gateway.home.root}\n`)
  const context = createTestContext(gateway.home.root)
  const report = await importHome(context, 'hermes', source, { dryRun: false, overwrite: false })
  assert.deepEqual(
    report.entries.filter(({ result }) => result === 'failed' || result === 'conflict'),
    [],
  )
  await gateway.start()
  await gateway.current().initialConnectsDone()
  await gateway.say('Hello?', { chat: 'ada', user: 'ada' })
  const { body, headers } = await gateway.modelRequest(0)
  assert.deepEqual([body['model'], headers.authorization], ['test-model', 'Bearer test-key'])
  assert.ok(JSON.stringify(body).includes('Breathe first.'))
  await gateway.say('Let me in.', { chat: 'eve', user: 'eve' })
  await gateway.waitForReply(/Hello/, 'ada')
  const asked = gateway.model.requests.map((request) => JSON.stringify(request.body))
  assert.equal(
    asked.some((text) => text.includes('Let me in.')),
    false,
  )
})

test('a database that would hang the import is refused: a view without an end, and changes in a link', async (t) => {
  const withView = homesWith(t, { 'config.yaml': 'timezone: UTC\n' })
  const db = new DatabaseSync(join(withView.source, 'state.db'))
  db.exec(
    "create view sessions as with recursive n(i) as (select 1 union all select i + 1 from n) select i as id, 'cli' as source, 0 as started_at from n; create table messages (id integer, session_id text, role text)",
  )
  db.close()
  const withLink = homesWith(t, { 'config.yaml': 'timezone: UTC\n' })
  writeStateDatabase(join(withLink.source, 'state.db'), 'new', []).close()
  symlinkSync('/dev/zero', join(withLink.source, 'state.db-journal'))
  for (const homes of [withView, withLink])
    assert.ok(namesOf(await runImport(homes, 'hermes'), 'failed').includes('state.db'))
})

test('a look leaves no copy of conversations behind, also not that of one that was killed', async (t) => {
  const homes = homesWith(t, { 'config.yaml': 'timezone: UTC\n' })
  const left = mkdtempSync(join(tmpdir(), 'hermes-import-'))
  utimesSync(left, 1, 1)
  await runImport(homes, 'hermes', '--dry-run')
  assert.equal(existsSync(left), false)
})
