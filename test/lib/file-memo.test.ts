/**
 * What was made of files is made again when one of them has changed, and only then.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createFileMemo } from '../../src/lib/file-memo.ts'
import { tempHome } from '../kit/temp-home.ts'

function countingMemo(t: TestContext) {
  const folder = tempHome(t)
  const path = join(folder, 'notes.txt')
  const memo = createFileMemo<string>(2)
  let reads = 0
  return {
    folder,
    path,
    reads: () => reads,
    get: () =>
      memo('notes', (lookAt) => {
        reads += 1
        lookAt(path)
        try {
          return readFileSync(path, 'utf8')
        } catch {
          return 'missing'
        }
      }),
    /** Until the last change is no longer one of just now. */
    rest: () => setTimeout(80),
  }
}

test('a file is read once for as long as it stays the same', async (t) => {
  const { path, get, reads, rest } = countingMemo(t)
  writeFileSync(path, 'first')
  await rest()
  assert.deepEqual([get(), get(), get()], ['first', 'first', 'first'])
  assert.equal(reads(), 1)
})

test('a changed, replaced, removed or created file is read again', async (t) => {
  const { folder, path, get, rest } = countingMemo(t)
  assert.equal(get(), 'missing')
  writeFileSync(path, 'first')
  assert.equal(get(), 'first')
  await rest()
  assert.equal(get(), 'first')
  writeFileSync(path, 'other')
  // The same size and time of change as before.
  utimesSync(path, 0, 0)
  assert.equal(get(), 'other')
  writeFileSync(join(folder, 'new.txt'), 'third')
  renameSync(join(folder, 'new.txt'), path)
  assert.equal(get(), 'third')
  rmSync(path)
  assert.equal(get(), 'missing')
  mkdirSync(path)
  assert.equal(get(), 'missing')
})

test('of two changes in the same moment the second one counts, too', (t) => {
  const { path, get } = countingMemo(t)
  for (let count = 0; count < 200; count += 1) {
    writeFileSync(path, `${count % 10}`)
    assert.equal(get(), `${count % 10}`)
  }
})

test('a promise that rejects is forgotten, and requests at the same time share one', async (t) => {
  const path = join(tempHome(t), 'notes.txt')
  const memo = createFileMemo<Promise<string>>(2)
  const failing = memo('a', async () => {
    throw new Error('no')
  })
  await assert.rejects(failing)
  const read = async () => 'text'
  const looking = (lookAt: (path: string) => void) => {
    lookAt(path)
    return read()
  }
  assert.equal(memo('a', looking), memo('a', looking))
  assert.equal(await memo('a', looking), 'text')
})
