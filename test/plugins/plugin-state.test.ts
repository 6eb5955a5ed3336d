/**
 * What a plugin keeps is there after a restart, and no trouble with its file loses anything in silence.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { isHermesError } from '../../src/lib/errors.ts'
import { createPluginStates, maxStateBytes } from '../../src/plugins/plugin-state.ts'
import { createRecordingLog } from '../hosts/support.ts'
import { tempHome } from '../kit/temp-home.ts'

function statesUnderTest(t: TestContext) {
  const directory = join(tempHome(t), 'plugin-state')
  const log = createRecordingLog()
  /** Opens the states like a restart does. */
  const states = () => createPluginStates(directory, log)
  return { folder: directory, log, states }
}

test('stored values survive a restart and are separate per plugin', async (t) => {
  const { folder, states } = statesUnderTest(t)
  const before = states()
  await before('demo').set('count', 3)
  await before('demo').set('seen', { ids: ['a', 'b'], when: null })
  await before('observability/otel').set('count', 7)
  const after = states()
  assert.deepEqual(await after('demo').keys(), ['count', 'seen'])
  assert.equal(await after('demo').get('count'), 3)
  assert.deepEqual(await after('demo').get('seen'), { ids: ['a', 'b'], when: null })
  assert.equal(await after('observability/otel').get('count'), 7)
  assert.equal(await after('demo').get('nothing'), undefined)
  assert.deepEqual(JSON.parse(readFileSync(join(folder, 'observability', 'otel.json'), 'utf8')), { count: 7 })
})

test('deleted values stay deleted after a restart', async (t) => {
  const { states } = statesUnderTest(t)
  const state = states()('demo')
  await state.set('a', 1)
  await state.delete('a')
  await state.delete('never')
  assert.deepEqual(await states()('demo').keys(), [])
})

test('reading writes no file', async (t) => {
  const { folder, states } = statesUnderTest(t)
  await states()('demo').get('a')
  await states()('demo').delete('a')
  assert.throws(() => statSync(folder), { code: 'ENOENT' })
})

test('the file is readable by its owner only, and no temporary file remains', async (t) => {
  const { folder, states } = statesUnderTest(t)
  await states()('demo').set('a', 1)
  assert.deepEqual(readdirSync(folder), ['demo.json'])
  assert.equal(statSync(join(folder, 'demo.json')).mode & 0o777, 0o600)
  assert.equal(statSync(folder).mode & 0o777, 0o700)
})

test('concurrent writes are all stored, and each read sees the writes before it', async (t) => {
  const { states } = statesUnderTest(t)
  const state = states()('demo')
  const all = Array.from({ length: 50 }, async (_, index) => {
    const write = state.set(`k${index}`, index)
    const read = state.get(`k${index}`)
    await write
    return await read
  })
  assert.deepEqual(
    await Promise.all(all),
    Array.from({ length: 50 }, (_, index) => index),
  )
  assert.equal((await states()('demo').keys()).length, 50)
})

test('stored and returned values are copies', async (t) => {
  const { states } = statesUnderTest(t)
  const state = states()('demo')
  const list = [1]
  const write = state.set('list', list)
  list.push(2)
  await write
  const read = await state.get('list')
  assert.ok(Array.isArray(read))
  read.push(3)
  assert.deepEqual(await state.get('list'), [1])
})

test('a value that is not JSON is rejected and changes nothing', async (t) => {
  const { states } = statesUnderTest(t)
  const state = states()('demo')
  const circle: Record<string, unknown> = {}
  circle['self'] = circle
  for (const value of [undefined, () => null, 1n, circle]) await assert.rejects(state.set('a', value), TypeError)
  assert.deepEqual(await state.keys(), [])
})

test('a state above the limit is rejected with the limit, and the stored state does not change', async (t) => {
  const { states } = statesUnderTest(t)
  const state = states()('demo')
  await state.set('a', 'small')
  await assert.rejects(
    state.set('a', 'x'.repeat(maxStateBytes)),
    (error) => isHermesError(error, 'plugins/state-too-large') && error.message.includes(String(maxStateBytes)),
  )
  assert.equal(await state.get('a'), 'small')
  assert.equal(await states()('demo').get('a'), 'small')
})

for (const [what, bytes] of [
  ['half a file', '{"a": 1'],
  ['a list', '[1]'],
  ['no text', Buffer.from([0xff, 0xfe, 0x00])],
] as const) {
  test(`${what} instead of a state is backed up and logged, and the plugin starts with an empty state`, async (t) => {
    const { folder, log, states } = statesUnderTest(t)
    mkdirSync(folder)
    const path = join(folder, 'demo.json')
    writeFileSync(path, bytes)
    const state = states()('demo')
    assert.deepEqual(await state.keys(), [])
    await state.set('b', 2)
    assert.deepEqual(readFileSync(`${path}.broken`), Buffer.from(bytes))
    assert.equal(log.records.length, 1)
    assert.equal(log.records[0]?.level, 'error')
    assert.equal(log.records[0]?.fields['event'], 'plugin.state_unreadable')
    assert.equal(log.records[0]?.fields['backup'], `${path}.broken`)
    assert.equal(await states()('demo').get('b'), 2)
  })
}

test('a second broken file does not replace the backup of the first', async (t) => {
  const { folder, states } = statesUnderTest(t)
  mkdirSync(folder)
  for (const text of ['one', 'two']) {
    writeFileSync(join(folder, 'demo.json'), text)
    await states()('demo').keys()
  }
  assert.deepEqual(readdirSync(folder).sort(), ['demo.json.broken', 'demo.json.broken-2'])
})

test('a failed write is reported to the plugin, changes nothing, and later writes succeed', async (t) => {
  const { folder, states } = statesUnderTest(t)
  const state = states()('demo')
  await state.set('a', 1)
  renameSync(folder, `${folder}-away`)
  writeFileSync(folder, 'a file in its place')
  await assert.rejects(state.set('a', 2), { code: 'EEXIST' })
  assert.equal(await state.get('a'), 1)
  rmSync(folder)
  renameSync(`${folder}-away`, folder)
  await state.set('b', 3)
  assert.deepEqual(readdirSync(folder), ['demo.json'])
  assert.deepEqual(JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8')), { a: 1, b: 3 })
})

test('an unreadable state is an error, not an empty state', async (t) => {
  const { folder, states } = statesUnderTest(t)
  writeFileSync(folder, 'a file in the place of the folder')
  await assert.rejects(states()('demo').get('a'), { code: 'ENOTDIR' })
})
