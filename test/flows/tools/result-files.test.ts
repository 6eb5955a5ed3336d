/**
 * Results that are too long for the model are kept as files, which only their conversation may read.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createResultFiles } from '../../../src/flows/tools/result-files.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { exec, query } from '../../../src/store/query.ts'
import { openStore } from '../../kit/open-store.ts'
import { tempHome } from '../../kit/temp-home.ts'

const long = Array.from({ length: 2_000 }, (_, index) => `line ${index}\n`).join('')

const insertTurn = query((db, { id, key: session_key }: { id: string; key: string }) =>
  db.insertInto('turns').values({
    ...{ id, session_key, session_id: '', epoch: 1, state: 'running', origin: '', authority: '', route: '' },
    ...{ reason: null, started_at: 1, ended_at: null },
  }),
)

function open(t: TestContext, maxTotalBytes?: number) {
  const { store } = openStore(t)
  const directory = join(tempHome(t), 'results')
  const files = createResultFiles(directory, { store, log: silentLog }, maxTotalBytes)
  const shorten = async (turnId: string, callId: string, result: string): Promise<Record<string, unknown>> =>
    JSON.parse(await files.shorten({ turnId, callId }, result, 2_000))
  const addTurn = (id: string, key: string) =>
    store.run(function* () {
      yield* exec(insertTurn, { id, key })
    })
  return { files, directory, shorten, addTurn }
}

test('the model gets the beginning, the end and the path, and the file has everything', async (t) => {
  const { shorten } = open(t)
  const result = await shorten('turn', 'call', JSON.stringify({ output: long, exit_code: 0 }))
  const path = String(result['full_result'])
  assert.match(path, /results\/turn\/call\.txt$/)
  assert.equal(readFileSync(path, 'utf8'), long)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.equal(result['exit_code'], 0)
  assert.match(String(result['output']), /^line 0\n[\s\S]*characters left out[\s\S]*line 1999\n$/)
  assert.ok(JSON.stringify(result).length <= 2_000)
})

for (const [name, result] of [
  ['text', long],
  ['a list', JSON.stringify(Array.from({ length: 500 }, (_, index) => `item ${index}`))],
  ['several texts', JSON.stringify({ a: long, b: long })],
] as const)
  test(`a result that is ${name} is stored as a whole`, async (t) => {
    const { shorten } = open(t)
    const shown = await shorten('turn', 'call', result)
    assert.equal(readFileSync(String(shown['full_result']), 'utf8'), result)
    assert.ok(String(shown['result']).startsWith(result.slice(0, 10)))
    assert.ok(JSON.stringify(shown).length <= 2_000)
  })

test('ids of vendors neither leave the folder nor replace a file', async (t) => {
  const { shorten, directory } = open(t)
  for (const id of ['../../evil', '..', 'a/b', 'x'.repeat(500)]) await shorten('../turn', id, long)
  await shorten('turn', 'call_0', long)
  await shorten('turn', 'call_0', `${long}again`)
  assert.equal(readdirSync(directory).length, 2)
  assert.deepEqual(readdirSync(join(directory, 'turn')).sort(), ['call_0-2.txt', 'call_0.txt'])
})

test('a conversation is given its own files alone', async (t) => {
  const { files, shorten, addTurn } = open(t)
  for (const [id, key] of [
    ['one', 'mine'],
    ['two', 'mine'],
    ['three', 'theirs'],
  ] as const)
    await addTurn(id, key)
  assert.deepEqual(await files.of('one'), [])
  const mine = String((await shorten('two', 'call', long))['full_result'])
  await shorten('three', 'call', long)
  await shorten('unknown', 'call', long)
  assert.deepEqual(await files.of('one'), [mine])
  assert.deepEqual(await files.of('unknown'), [])
})

test('the oldest files are removed above the limit', async (t) => {
  const { shorten, directory } = open(t, 2.5 * long.length)
  const paths: string[] = []
  for (const id of ['a', 'b', 'c']) {
    const path = String((await shorten(id, 'call', long))['full_result'])
    utimesSync(path, paths.length + 1, paths.length + 1)
    paths.push(path)
  }
  const exists = paths.map((path) => statSync(path, { throwIfNoEntry: false }) !== undefined)
  assert.deepEqual(exists, [false, true, true])
  assert.deepEqual(readdirSync(directory).sort(), ['b', 'c'], 'the folder of a turn without files is removed')
})

test('a result that cannot be stored is cut all the same', async (t) => {
  const { shorten, directory } = open(t)
  writeFileSync(directory, '')
  const result = await shorten('turn', 'call', JSON.stringify({ output: long }))
  assert.equal(result['full_result'], undefined)
  assert.match(String(result['output']), /characters left out/)
})
